"""What the agent tells Kubernetes of its GPUs: on its own Node, in events, and in metrics.

Everything that speaks to the API server is in here, and is imported only where reporting is on.
"""
