"""What a question may be given, at most."""

from __future__ import annotations

LONGEST_AGE_S = (2**32 - 1) / 1000
"""Of a sample: the contract counts in milliseconds, with 32 bits."""

LONGEST_TIMEOUT_S = 7 * 86400.0
"""gRPC takes more, and then times out at once."""
