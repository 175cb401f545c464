"""The node agent as the kubelet's device plugin, for Volcano's two resources of GPUs."""
