"""Stubs of protos/controller/kube_api: Kubernetes objects in their protobuf encoding."""
