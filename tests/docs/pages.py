"""The documentation as values: pages with their headings, links, fenced blocks and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```(\w*)$\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block; ``line`` is that of its fence."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def text(self) -> str:
        return self.path.read_text()

    @property
    def prose(self) -> str:
        """Without fenced blocks."""
        return _FENCE.sub("", self.text)

    def blocks(self) -> list[Block]:
        text = self.text
        return [
            Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
            for found in _FENCE.finditer(text)
        ]

    def anchors(self) -> set[str]:
        """What a link to a heading of this page may have behind the #."""
        return {_anchor(heading) for heading in _HEADING.findall(self.prose)}

    def links(self) -> list[str]:
        return _LINK.findall(self.prose)

    def code(self) -> list[str]:
        """What stands between backticks in running text and tables."""
        return _CODE.findall(self.prose)

    def section(self, heading: str) -> str:
        """What stands under a heading, up to the next one of any level."""
        parts = re.split(r"^#{1,6} (.+)$", self.prose, flags=re.MULTILINE)
        return parts[parts.index(heading) + 1]


@cache
def pages() -> list[Page]:
    """Every page of the documentation."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [Page(path) for path in (*top, *sorted((ROOT / "docs").rglob("*.md")))]


def page(name: str) -> Page:
    """The page of this path."""
    return Page(ROOT / name)


def rows(text: str) -> Iterator[tuple[str, ...]]:
    """The cells of every table row in ``text``, heads and rulers left out."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("|") and not _is_ruler(line) and not _is_ruler(following):
            yield tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])


def _is_ruler(line: str) -> bool:
    return bool(re.fullmatch(r"[| -]*---[| -]*", line))


def _anchor(heading: str) -> str:
    """As GitHub makes it."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")
