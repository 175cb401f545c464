"""The controller: finds a pod's node from its caches, asks the agent there, and enriches."""
