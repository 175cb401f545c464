"""The Kubernetes API as both services meet it: credentials, objects, list, watch and writes."""
