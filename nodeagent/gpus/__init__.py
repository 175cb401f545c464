"""The GPUs of this node: what the driver says of them, asked in a process that can be killed."""
