"""What the controller knows of the cluster: pods and nodes in memory, indexed for its questions."""
