"""Kubernetes' quantities as whole numbers: "8", "1k", "2Gi", "1500m", "1e3"."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal

LARGEST = 2**63 - 1
"""What is above it Kubernetes cuts off there."""

_QUANTITY = re.compile(
    r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d+))?", re.ASCII
)

_SCALES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
} | {f"{letter}i": Decimal(1024**power) for power, letter in enumerate("KMGTPE", start=1)}

_MOST_CHARACTERS = 40


def parse_quantity(value: str | float) -> int:
    """The number, rounded up as Kubernetes does where it needs a whole one.

    Raises:
        ValueError: it is no quantity; the message says how one looks.
    """
    text = str(value)
    if text.isdecimal() and text.isascii() and len(text) < len(str(LARGEST)):
        return int(text)
    match = _QUANTITY.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if match is None:
        shown = text[:_MOST_CHARACTERS]
        raise ValueError(f"{shown!r} is no quantity: write it as 8, 1k or 2Gi")
    number, suffix, exponent = match.groups()
    scale = _SCALES[suffix] if suffix else Decimal(1).scaleb(_bounded(exponent))
    whole = (Decimal(number) * scale).to_integral_value(ROUND_CEILING)
    return max(-LARGEST, min(LARGEST, int(whole)))


def _bounded(exponent: str | None) -> int:
    """No more digits than can matter: 1e999999999 is a quantity, too."""
    return max(-_MOST_CHARACTERS, min(_MOST_CHARACTERS, int(exponent or "0")))
