"""A report for people: what was examined, what was found, and what to do. Pure: lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby

from rich.text import Text

from gpupods.cli.output.terminal_text import one_line
from gpupods.diagnosis import Status
from gpupods.doctor.report import Finding, Part, Report

WORDS = {Status.OK: "ok", Status.WARNING: "WARNING", Status.FAILED: "FAILED"}
STYLES = {Status.OK: "green", Status.WARNING: "yellow", Status.FAILED: "bold red"}
STATUS_WIDTH = max(map(len, WORDS.values()))
TO_DO = "to do: "
NARROWEST = 40
"""Characters; on a terminal that is narrower lines are not broken by us."""


def lines(report: Report, *, wide: bool, width: int | None) -> list[Text]:
    """All of it; of nodes that are well only the names, unless ``wide``."""
    groups = [
        (part, subject, list(findings))
        for (part, subject), findings in groupby(
            report.findings, key=lambda each: (each.part, each.subject)
        )
    ]
    name_width = max((len(each.check.name) for each in report.findings), default=0)
    shown: list[Text] = []
    well: list[str] = []
    for part, subject, findings in groups:
        if part is Part.NODE and not wide and _are_well(findings):
            well.append(one_line(subject))
            continue
        shown.append(Text(_title(part, subject, findings[0].address), style="bold"))
        for finding in findings:
            shown += _finding(finding, name_width, width)
    if well:
        names = f"{len(well)} node{'s are' if len(well) > 1 else ' is'} well: {', '.join(well)}"
        shown += [Text(line) for line in _wrapped(names, width, "")]
    return [*shown, Text(), Text(_summary(report), style=STYLES[report.status])]


def _are_well(findings: list[Finding]) -> bool:
    return all(each.check.status is Status.OK for each in findings)


def _title(part: Part, subject: str, address: str) -> str:
    at = f" at {one_line(address)}" if address else ""
    if part is Part.ACCESS:
        return "from here to the controller"
    if part is Part.CONTROLLER:
        return f"controller{at}"
    return f"node {one_line(subject) or '(its name is not set)'}{at}"


def _finding(finding: Finding, name_width: int, width: int | None) -> Iterator[Text]:
    check = finding.check
    word = WORDS[check.status].ljust(STATUS_WIDTH)
    indent = " " * (STATUS_WIDTH + name_width + 6)
    first, *rest = _wrapped(one_line(check.found), width, indent)
    line = Text("  ")
    line.append(word, style=STYLES[check.status])
    line.append(f"  {one_line(check.name).ljust(name_width)}  {first.lstrip()}")
    yield line
    yield from map(Text, rest)
    if check.advice:
        yield from map(Text, _wrapped(TO_DO + one_line(check.advice), width, indent))


def _wrapped(text: str, width: int | None, indent: str) -> list[str]:
    """``text`` with ``indent`` before each line; never empty. Words are not cut."""
    if width is None or width - len(indent) < NARROWEST:
        return [indent + text]
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent]


def _summary(report: Report) -> str:
    warnings = report.count(Status.WARNING)
    counts = [
        f"{report.count(status)} {word}"
        for status, word in (
            (Status.OK, "ok"),
            (Status.WARNING, "warning" if warnings == 1 else "warnings"),
            (Status.FAILED, "failed"),
        )
        if report.count(status)
    ]
    number = len(report.findings)
    return f"{number} check{'' if number == 1 else 's'}: {', '.join(counts)}"
