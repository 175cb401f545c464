"""The manifests: kustomize and Helm, held against each other and against a real API server."""
