"""Stubs of protos/nodeagent/kubelet_api: the kubelet's services, as far as they are spoken."""
