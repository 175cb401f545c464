"""What `gpupods doctor` finds out: from here to the API server, the controller and every node."""
