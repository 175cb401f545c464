"""A real Kubernetes on this one machine, and gpupods tried on it as an operator runs it.

The control plane and each node are a `Machine`: namespaces and a cgroup of their own, with the
standard paths of a real node in them. See README.md.
"""
