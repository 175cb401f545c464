"""Stubs of protos/gpupods/kube_api: Kubernetes objects in their protobuf encoding."""
