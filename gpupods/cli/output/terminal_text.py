"""Text of others made safe for a terminal.

Process names are chosen by whoever runs a process, error texts by a server: neither may move
the cursor, change colours, or turn the writing direction around. Pure.
"""

from __future__ import annotations


def shown(text: str) -> str:
    r"""``text`` with everything that is not printable escaped: ``"\x1b[2J"`` -> ``"\\x1b[2J"``.

    That is control characters of both ranges, line ends, format characters such as those for
    the writing direction, unusual spaces and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def one_line(text: str) -> str:
    """``text`` as `shown`, its line ends and runs of spaces made single spaces."""
    return shown(" ".join(text.split()))


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
