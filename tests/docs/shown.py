"""Commands as a page shows them, each with its output; and whether a program printed that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

PROMPT = "$ "
LEFT_OUT = "..."
"""A line of its own: any lines, or none."""

_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z")


@dataclass(frozen=True)
class Shown:
    """One command of a console block, and the lines shown below it."""

    command: str
    output: tuple[str, ...]


def shown(block: str) -> list[Shown]:
    """The commands of a console block; a command may go on after a backslash."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith(PROMPT):
            found.append((line.removeprefix(PROMPT), []))
        elif found and found[-1][0].endswith("\\"):
            found[-1] = (found[-1][0] + "\n" + line, [])
        elif found:
            found[-1][1].append(line)
    return [Shown(command, tuple(output)) for command, output in found]


def assert_printed(expected: Sequence[str], printed: str) -> None:
    """Whether ``printed`` is what a page shows: times apart, and what the page leaves out."""
    rest = _comparable(printed.rstrip().splitlines())
    anything = not expected
    for part in _parts(_comparable(expected)):
        if part == [LEFT_OUT]:
            anything = True
            continue
        at = _find(part, rest) if anything else 0
        assert at is not None, f"{part} is not in {rest}"
        assert rest[at : at + len(part)] == part
        rest, anything = rest[at + len(part) :], False
    assert anything or rest == []


def _comparable(lines: Sequence[str]) -> list[str]:
    return [_TIME.sub("(time)", line.rstrip()) for line in lines]


def _parts(lines: list[str]) -> list[list[str]]:
    """Runs of lines, and the marks between them on their own."""
    parts: list[list[str]] = []
    for line in lines:
        if line == LEFT_OUT or not parts or parts[-1] == [LEFT_OUT]:
            parts.append([line])
        else:
            parts[-1].append(line)
    return parts


def _find(part: list[str], lines: list[str]) -> int | None:
    for at in range(len(lines) - len(part) + 1):
        if lines[at : at + len(part)] == part:
            return at
    return None
