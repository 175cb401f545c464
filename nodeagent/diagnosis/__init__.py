"""Whether this node is such that its agent can answer, and what to do where it is not."""
