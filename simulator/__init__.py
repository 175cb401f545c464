"""A GPU cluster in one process: the real services on simulated edges."""
