"""What each XID and each other sign of trouble means: `policy.toml`, changed by an operator's file.

Pure: text in, a `Policy` out, or a `PolicyError` that says in which line the text is wrong.
Reading the files again when they change is `nodeagent.health.policy_files`'.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from nodeagent.health.causes import Cause, CauseKind, Condition, FaultClass

_LINE_OF_SYNTAX = re.compile(r"\(at line (\d+)")
_LONGEST_TEXT = 500
_HIGHEST_XID = 100_000
_RULE_FIELDS = ("class", "what", "action")


class PolicyError(ValueError):
    """The text is no policy. ``line`` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Rule:
    """What one cause means."""

    fault_class: FaultClass
    what: str
    action: str
    ends: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """How recovery is verified; times in seconds."""

    dwell_s: float
    longest_dwell_s: float
    steady_s: float
    clean_readings: int

    def dwell_after(self, relapses: int) -> float:
        """How long a GPU must stay clean that has turned unfit ``relapses`` times of late."""
        doublings = min(max(relapses - 1, 0), 60)
        return float(min(self.dwell_s * 2**doublings, self.longest_dwell_s))


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a table, as far as it is given."""

    fault_class: FaultClass
    what: str
    action: str | None
    """None: the class's."""


@dataclass(frozen=True, slots=True)
class _Class:
    action: str
    ends: str


@dataclass(frozen=True, slots=True)
class Policy:
    """The table. `rule` answers for every cause there can be."""

    recovery: Recovery
    classes: Mapping[FaultClass, _Class]
    lines: Mapping[Cause, _Line]

    def rule(self, cause: Cause) -> Rule:
        """What ``cause`` means; an unknown one is said to be unknown."""
        line = self.lines.get(cause)
        if line is None:
            line = self.lines[Cause(CauseKind.CONDITION.value, Condition.UNKNOWN_XID.value)]
            if cause.kind != CauseKind.XID.value:
                line = replace(line, what=f"{cause}, which this table does not know", action=None)
        of_class = self.classes[line.fault_class]
        action = of_class.action if line.action is None else line.action
        return Rule(line.fault_class, line.what, action, of_class.ends)

    def knows(self, cause: Cause) -> bool:
        """Whether the table has a line for it."""
        return cause in self.lines


@cache
def built_in_policy() -> Policy:
    """The table that comes with the agent."""
    text = resources.files("nodeagent.health").joinpath("policy.toml").read_text()
    return _Reader(text, None).policy()


def overridden(base: Policy, text: str) -> Policy:
    """``base`` with the lines of ``text`` in the place of its own.

    Raises:
        PolicyError: the text is no TOML, or has a line that cannot be meant.
    """
    return _Reader(text, base).policy()


class _Reader:
    """Reads one text. Every complaint carries the line of what it complains about."""

    def __init__(self, text: str, base: Policy | None) -> None:
        self._text = text
        self._base = base

    def policy(self) -> Policy:
        tables = self._tables()
        base = self._base
        lines = dict(base.lines) if base else {}
        for kind in CauseKind:
            for name, fields in self._entries(tables, kind.value):
                cause = self._cause(kind, name)
                lines[cause] = self._line(cause, fields, lines.get(cause))
        classes = dict(base.classes) if base else {}
        for name, fields in self._entries(tables, "class"):
            fault_class = self._class_named(name, "class", name)
            classes[fault_class] = self._class(name, fields, classes.get(fault_class))
        return Policy(self._recovery(tables), classes, lines)

    def _tables(self) -> dict[str, Any]:
        try:
            tables = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            raise PolicyError(self._line_of_syntax(error), f"this is no TOML: {error}") from None
        known = {"recovery", "class", *(kind.value for kind in CauseKind)}
        for name, table in tables.items():
            if name not in known:
                places = ", ".join(f"[{each}]" for each in sorted(known))
                raise self._wrong(f"{name!r} is not one of the tables {places}", name)
            if not isinstance(table, dict):
                raise self._wrong(f"{name!r} is a table: write [{name}] and lines below it", name)
        return tables

    def _line_of_syntax(self, error: tomllib.TOMLDecodeError) -> int:
        said = _LINE_OF_SYNTAX.search(str(error))
        return int(said[1]) if said else self._text.rstrip("\n").count("\n") + 1

    def _entries(self, tables: dict[str, Any], table: str) -> list[tuple[str, dict[str, Any]]]:
        entries = []
        for name, fields in tables.get(table, {}).items():
            if not isinstance(fields, dict):
                raise self._wrong(f'write {name} = {{ class = "..." }}', table, name)
            entries.append((name, fields))
        return entries

    def _cause(self, kind: CauseKind, name: str) -> Cause:
        if kind is CauseKind.CONDITION:
            known = [condition.value for condition in Condition]
            if name not in known:
                raise self._wrong(f"{name!r} is not one of {', '.join(known)}", kind.value, name)
            return Cause(kind.value, name)
        if not (name.isascii() and name.isdigit() and 0 < int(name) <= _HIGHEST_XID):
            what = f"{name!r} is no {kind.value}: write a number above 0"
            raise self._wrong(what, kind.value, name)
        return Cause(kind.value, str(int(name)))

    def _line(self, cause: Cause, fields: dict[str, Any], old: _Line | None) -> _Line:
        where = (cause.kind, cause.name)
        self._only(fields, _RULE_FIELDS, where)
        given = {field: self._words(fields, field, where) for field in _RULE_FIELDS}
        if given["class"] is None and old is None:
            raise self._wrong(f"{cause} has no line yet, so it needs a class", *where)
        old_class = old.fault_class if old else None
        name = given["class"]
        fault_class = self._class_named(name, *where) if name is not None else old_class
        assert fault_class is not None  # noqa: S101 - one of the two is given
        action = given["action"]
        if action is None and old is not None and fault_class is old_class:
            action = old.action
        what = given["what"] or (old.what if old else f"{cause}, added by the operator's policy")
        return _Line(fault_class, what, action)

    def _class_named(self, name: str, *where: str) -> FaultClass:
        try:
            return FaultClass(name)
        except ValueError:
            known = ", ".join(each.value for each in FaultClass)
            raise self._wrong(f"{name!r} is no class; those there are: {known}", *where) from None

    def _class(self, name: str, fields: dict[str, Any], old: _Class | None) -> _Class:
        self._only(fields, ("action", "ends"), ("class", name))
        action = self._words(fields, "action", ("class", name))
        ends = self._words(fields, "ends", ("class", name))
        return _Class(
            action if action is not None else (old.action if old else ""),
            ends if ends is not None else (old.ends if old else ""),
        )

    def _recovery(self, tables: dict[str, Any]) -> Recovery:
        given = tables.get("recovery", {})
        names = ("dwell_s", "longest_dwell_s", "steady_s", "clean_readings")
        self._only(given, names, ("recovery",))
        for name, value in given.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 < value < float("inf"):
                raise self._wrong(f"{name} is a number above 0", "recovery", name)
        if not isinstance(given.get("clean_readings", 1), int):
            raise self._wrong("clean_readings is a whole number", "recovery", "clean_readings")
        recovery = replace(self._base.recovery, **given) if self._base else Recovery(**given)
        if recovery.longest_dwell_s < recovery.dwell_s:
            name = "longest_dwell_s" if "longest_dwell_s" in given else "dwell_s"
            raise self._wrong("longest_dwell_s is shorter than dwell_s", "recovery", name)
        return recovery

    def _only(self, fields: dict[str, Any], known: tuple[str, ...], where: tuple[str, ...]) -> None:
        for name in fields:
            if name not in known:
                what = f"{name!r} is not one of {', '.join(known)}"
                raise self._wrong(what, *where, name)

    def _words(self, fields: dict[str, Any], field: str, where: tuple[str, ...]) -> str | None:
        value = fields.get(field)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise self._wrong(f"{field} is a line of text in quotes", *where, field)
        if len(value) > _LONGEST_TEXT:
            raise self._wrong(f"{field} is longer than {_LONGEST_TEXT} characters", *where, field)
        return value

    def _wrong(self, problem: str, *where: str) -> PolicyError:
        return PolicyError(line_of(self._text, where), problem)


def line_of(text: str, path: tuple[str, ...]) -> int:
    """The line of ``text`` where the value at ``path`` is given; the nearest that is found.

    Good for the forms people write: a key below its table's header, and dotted keys.
    """
    best, best_length = 1, 0
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        keys = _keys_of(line)
        if line.lstrip().startswith("["):
            table = keys
            found = _common(table, path)
        else:
            found = _common([*table, *keys], path) if keys else 0
        if found > best_length:
            best, best_length = number, found
    return best


def _keys_of(line: str) -> list[str]:
    """Of ``[a.b]`` a and b; of ``a.b = ...`` a and b."""
    stripped = line.partition("#")[0].strip()
    if stripped.startswith("["):
        stripped = stripped.strip("[]")
    elif "=" in stripped:
        stripped = stripped.partition("=")[0]
    else:
        return []
    return [key.strip().strip("\"'") for key in stripped.split(".")]


def _common(keys: list[str], path: tuple[str, ...]) -> int:
    length = 0
    for key, wanted in zip(keys, path, strict=False):
        if key != wanted:
            return length if length == len(keys) else 0
        length += 1
    return length
