"""Whether the controller can do its work, and what every node agent says of its node."""
