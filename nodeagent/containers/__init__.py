"""The node's containers: which process is in which, and what the runtime knows of them."""
