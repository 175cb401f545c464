"""What the code says to people: the texts of its errors, read from the source. Pure.

A text is told with holes where the code puts values in.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.docs.pages import ROOT

HOLE = "\0"
ANYTHING = "..."
"""In the pages, for what differs from case to case."""

_WORDS = re.compile(r"[a-z]+ |[ :][a-z]+")


def texts(path: Path) -> Iterator[str]:
    """Every text in a module; strings that stand side by side are one."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr | ast.Constant) and (text := text_of(node)):
            yield text


def said_by(path: Path, calls: Iterable[str]) -> Iterator[str]:
    """The texts that a module gives to ``calls``, functions or exceptions by name."""
    wanted = set(calls)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and _name(node.func) in wanted:
            found = (text_of(each) for each in node.args)
            yield from (text for text in found if _WORDS.search(text))


def text_of(node: ast.expr) -> str:
    """The text of an expression, with holes; empty if it is none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or HOLE for part in node.values)
    return ""


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def covers(told: str, text: str) -> bool:
    """Whether a page's words are the code's, what the page leaves open apart."""
    parts = [re.escape(part) for part in told.split(ANYTHING)]
    return re.search(".*".join(parts), text, re.DOTALL) is not None


def sources() -> list[Path]:
    """The modules of what users run."""
    packages = ("gpupods", "nodeagent", "controller")
    return [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]
