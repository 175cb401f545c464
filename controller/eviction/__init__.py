"""Evicts pods from GPUs that have been unfit for long, where the operator wants that.

Off unless `--evict-after` is set. ``decide`` has the rules, ``ledger`` the pace, ``edge`` the
requests to the API server, and ``evictor`` the loop that puts them together on the leader.
"""
