"""The GPUs of the whole cluster: which are unfit and why, and which pods run on them."""
