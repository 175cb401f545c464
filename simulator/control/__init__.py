"""How another terminal reaches a running simulation: a socket of its user's, on this machine."""
