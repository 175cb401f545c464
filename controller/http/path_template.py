"""Path templates of google.api.http: ``/v1/{name=pods/*}:evict`` read once, matched often. Pure.

Which HTTP method and which gRPC method a template belongs to is in `routes`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

ANY = "*"
DEEP = "**"

_LITERAL = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})+")
_FIELD_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)


class PathTemplateError(ValueError):
    """A template breaks the grammar in google/api/http.proto; the message says where."""


@dataclass(frozen=True, slots=True)
class Variable:
    """``segments[start:end]`` of a template, captured into the request's ``field_path``."""

    field_path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """A template's segments (a literal, ``*`` or ``**`` each), its variables and its verb."""

    text: str
    segments: tuple[str, ...]
    variables: tuple[Variable, ...]
    verb: str

    def match(self, components: Sequence[str]) -> dict[str, str] | None:
        """The variables' values by field path, or None if the path is another one.

        ``components`` are an unescaped path, without its leading slash, split at slashes.
        """
        if self.verb:
            last, colon, verb = components[-1].rpartition(":" + self.verb)
            if not colon or verb or not last:
                return None
            components = [*components[:-1], last]
        spans = self._spans(components)
        if spans is None:
            return None
        return {
            variable.field_path: "/".join(
                components[spans[variable.start][0] : spans[variable.end - 1][1]]
            )
            for variable in self.variables
        }

    def _spans(self, components: Sequence[str]) -> list[tuple[int, int]] | None:
        """For each segment, which components it takes; None if they do not fit."""
        deep_takes = len(components) - (len(self.segments) - 1)
        spans = []
        position = 0
        for segment in self.segments:
            takes = deep_takes if segment == DEEP else 1
            end = position + takes
            if takes < 0 or end > len(components):
                return None
            if segment not in (ANY, DEEP) and components[position] != segment:
                return None
            spans.append((position, end))
            position = end
        return spans if position == len(components) else None


def parse_path_template(text: str) -> PathTemplate:
    """Read ``text``, as it stands in an annotation.

    Raises:
        PathTemplateError: it is not a template.
    """
    if not text.startswith("/"):
        raise PathTemplateError(f"{text!r}: a path template starts with /")
    path, verb = _split_verb(text[1:])
    if verb is not None and not _LITERAL.fullmatch(verb):
        raise PathTemplateError(f"{text!r}: {verb!r} is not a verb")
    segments: list[str] = []
    variables: list[Variable] = []
    for piece in _pieces(text, path):
        if not piece.startswith("{"):
            segments.append(piece)
            continue
        field_path, equals, pattern = piece[1:-1].partition("=")
        start = len(segments)
        segments += pattern.split("/") if equals else [ANY]
        variables.append(Variable(field_path, start, len(segments)))
    _check(text, segments, variables)
    return PathTemplate(text, tuple(segments), tuple(variables), verb or "")


def _split_verb(path: str) -> tuple[str, str | None]:
    """Cut a verb off: the first colon after a closing variable, else the last segment's last."""
    head, brace, tail = path.rpartition("}")
    if brace and "/" not in tail:
        before, colon, verb = tail.partition(":")
        return (head + brace + before, verb) if colon else (path, None)
    head, slash, last = path.rpartition("/")
    before, colon, verb = last.rpartition(":")
    return (head + slash + before, verb) if colon else (path, None)


def _pieces(text: str, path: str) -> list[str]:
    """Split at the slashes outside braces."""
    pieces = re.findall(r"(?:\{[^{}]*\}|[^/{}])*(?:/|$)", path)
    if "".join(pieces) != path:
        raise PathTemplateError(f"{text!r}: braces do not pair")
    pieces = [piece.removesuffix("/") for piece in pieces]
    return pieces[:-1] if len(pieces) > 1 and not path.endswith("/") else pieces


def _check(text: str, segments: Sequence[str], variables: Sequence[Variable]) -> None:
    if text != "/":  # which is a template of one empty segment
        for segment in segments:
            if not _LITERAL.fullmatch(segment):
                raise PathTemplateError(f"{text!r}: {segment!r} is not a path segment")
    if segments.count(DEEP) > 1:
        raise PathTemplateError(f"{text!r}: ** may stand there once")
    for variable in variables:
        if not _FIELD_PATH.fullmatch(variable.field_path):
            raise PathTemplateError(f"{text!r}: {variable.field_path!r} is not a field path")
