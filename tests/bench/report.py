"""Tables of measured figures: ours, the baseline of the same run, their ratio, the target.

A benchmark is a module of this package with ``def main() -> None`` that measures, then calls
`show`. Nothing here judges a run: a target that was not reached is printed, not raised.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

JSON_VARIABLE = "GPUPODS_BENCH_JSON"
"""Names the file to which each table is appended as one line of JSON."""

QUICK_VARIABLE = "GPUPODS_BENCH_QUICK"
"""Set: measure for a shorter time, or on less, to see that a benchmark works."""

_PLAIN_WIDTH = 160
_COLUMNS = ("figure", "ours", "baseline", "ratio", "target", "reached")


@dataclass(frozen=True, slots=True)
class Target:
    """A bound for our own figure, or for its ratio to the baseline."""

    bound: float
    kind: Literal["at most", "at least"]
    of: Literal["ours", "ratio"] = "ours"


def quick() -> bool:
    """Whether the figures matter less than the time they take (``--quick``)."""
    return bool(os.environ.get(QUICK_VARIABLE))


def at_most(bound: float, of: Literal["ours", "ratio"] = "ours") -> Target:
    """The figure, or its ratio, is to be ``bound`` or less."""
    return Target(bound, "at most", of)


def at_least(bound: float, of: Literal["ours", "ratio"] = "ours") -> Target:
    """The figure, or its ratio, is to be ``bound`` or more."""
    return Target(bound, "at least", of)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a table; ``ours`` and ``baseline`` are in ``unit``."""

    name: str
    ours: float
    unit: str
    baseline: float | None = None
    baseline_is: str = ""
    """What the baseline is, in a few words."""
    divided: bool = False
    """The ratio is how many times smaller ours is (shown as ÷N), not how many times greater."""
    target: Target | None = None

    @property
    def ratio(self) -> float | None:
        """Ours to the baseline, or the baseline to ours if ``divided``; None without a baseline."""
        if self.baseline is None:
            return None
        over, under = (self.baseline, self.ours) if self.divided else (self.ours, self.baseline)
        return over / under if under else math.inf

    @property
    def reached(self) -> bool | None:
        """Whether the target is; None without one."""
        value = self.ours if self.target is None or self.target.of == "ours" else self.ratio
        if self.target is None or value is None:
            return None
        if self.target.kind == "at most":
            return value <= self.target.bound
        return value >= self.target.bound


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return percentile(values, 50)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that ``percent`` of all do not exceed.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("nothing was measured")
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def latencies(
    name: str,
    ours_s: Sequence[float],
    baseline_s: Sequence[float] = (),
    baseline_is: str = "",
    *,
    target_median: Target | None = None,
    target_p99: Target | None = None,
) -> list[Figure]:
    """Median and 99th percentile in ms of times in seconds; the ratio is times faster."""
    return [
        Figure(
            f"{name}, {word}",
            percentile(ours_s, percent) * 1000,
            "ms",
            percentile(baseline_s, percent) * 1000 if baseline_s else None,
            baseline_is,
            divided=True,
            target=target,
        )
        for word, percent, target in (("median", 50, target_median), ("p99", 99, target_p99))
    ]


def show(title: str, figures: Iterable[Figure], notes: Sequence[str] = ()) -> None:
    """Print a table to stdout, and append it to the JSON file if one is wanted."""
    rows = list(figures)
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else _PLAIN_WIDTH, highlight=False)
    table = Table(box=SIMPLE_HEAD if terminal else None)
    cells = [_cells(figure) for figure in rows]
    used = [index for index in range(len(_COLUMNS)) if any(row[index] for row in cells)]
    for index in used:
        table.add_column(_COLUMNS[index], overflow="fold")
    for figure, row in zip(rows, cells, strict=True):
        table.add_row(*(row[index] for index in used), style=_style(figure))
    console.print(title, style="bold", markup=False)
    console.print(table)
    for note in notes:
        console.print(f"  {note}", markup=False)
    console.print()
    if path := os.environ.get(JSON_VARIABLE):
        _append(Path(path), title, rows, notes)


def _cells(figure: Figure) -> tuple[str, ...]:
    baseline = ""
    if figure.baseline is not None:
        baseline = f"{_number(figure.baseline)} {figure.unit}"
        baseline += f" ({figure.baseline_is})" if figure.baseline_is else ""
    reached = {None: "", True: "yes", False: "NO"}[figure.reached]
    ours = f"{_number(figure.ours)} {figure.unit}"
    return (figure.name, ours, baseline, _ratio(figure), _target(figure), reached)


def _ratio(figure: Figure) -> str:
    if figure.ratio is None:
        return ""
    return ("÷" if figure.divided else "x") + _number(figure.ratio)


def _target(figure: Figure) -> str:
    target = figure.target
    if target is None:
        return ""
    sign = "≤" if target.kind == "at most" else "≥"
    if target.of == "ratio":
        return f"{sign} {'÷' if figure.divided else 'x'}{_number(target.bound)}"
    return f"{sign} {_number(target.bound)} {figure.unit}"


def _number(value: float) -> str:
    """Three digits that say something, thousands apart."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _style(figure: Figure) -> str:
    return {None: "", True: "green", False: "red"}[figure.reached]


def _append(path: Path, title: str, figures: Sequence[Figure], notes: Sequence[str]) -> None:
    entry = {
        "title": title,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "python": platform.python_version(),
        "figures": [
            {**asdict(figure), "ratio": figure.ratio, "reached": figure.reached}
            for figure in figures
        ],
        "notes": list(notes),
    }
    with path.open("a") as file:
        file.write(json.dumps(entry, ensure_ascii=False) + "\n")
