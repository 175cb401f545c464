"""``gpupods gpu``: the cluster's GPUs for the operator on call."""
