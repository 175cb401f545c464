"""gpupods: which Kubernetes pod's process is on which GPU."""
