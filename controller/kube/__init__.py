"""The Kubernetes API as the controller meets it: credentials, objects, list and watch."""
