"""The node's processes, as /proc shows them."""
