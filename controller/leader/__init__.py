"""Which one of several replicas leads: an election by Lease, as other parts of Kubernetes do it."""
