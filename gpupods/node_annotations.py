"""The annotations of a Node that concern its GPUs: their names, and how each is written and read.

One place for what the node agent writes, schedulers and the controller read, and an operator's
command leaves for the agent. Reading never raises: what is not understood is said in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, TypeVar

import msgspec

UNHEALTHY_IDS = "volcano.sh/gpu-unhealthy-ids"
"""The indexes that nobody should be given: "0,3". Volcano's scheduler splits at commas and parses
integers as they stand, so there is no space in it, and no annotation where all GPUs are fit."""

HEALTH = "gpupods.io/gpu-health"
"""Each unfit GPU with its reason: a JSON list of `UnfitGpu`, by index. Absent as the other is."""

OVERRIDES = "gpupods.io/gpu-overrides"
"""An operator's words: a JSON object {index: `Override`}. Written by `gpupods gpu`, read by the
node's agent, so that Kubernetes' own rights decide who may, and the word outlives every part."""

HIGHEST_INDEX = 1023
"""No node has that many GPUs: what is above it is a mistake, not an index."""
HIGHEST_XID = 2**32 - 1

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time that knows its zone. What is read is in UTC."""

_UNREADABLE = (msgspec.DecodeError, UnicodeEncodeError, RecursionError)
"""What decoding raises: RecursionError of what is nested thousands of times."""

T = TypeVar("T", bound="UnfitGpu | Override")


class UnfitStanding(StrEnum):
    """Why a GPU must not be given away."""

    UNFIT = "unfit"
    RECOVERING = "recovering"
    """All that is wanting is that it stays clean for a while."""
    EXCLUDED = "excluded"
    """An operator's word."""


class UnfitGpu(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One GPU that must not be given to anybody.

    Attributes:
        pci_address: As NVML writes it: "00000000:3B:00.0".
        reason: For a person: "XID 79: the GPU has fallen off the bus".
        since: When that began, with its zone.
        action: What to do, for a person.
        source: What noticed it: nvml, kernel log, operator.
        xid: 0 where none led to it.
        who: The operator whose word it is; "" where it is nobody's.
        until: When that word ends; None: when it is taken back.
    """

    index: Annotated[int, msgspec.Meta(ge=0, le=HIGHEST_INDEX)]
    uuid: str
    pci_address: str
    standing: UnfitStanding
    reason: str
    since: Moment | None = None
    action: str = ""
    source: str = ""
    xid: Annotated[int, msgspec.Meta(ge=0, le=HIGHEST_XID)] = 0
    who: str = ""
    until: Moment | None = None


class OverrideKind(StrEnum):
    """What an operator says of a GPU."""

    EXCLUDE = "exclude"
    """Give it to nobody, however well it is."""
    RESTORE = "restore"
    """What was known against it up to then counts no more."""


class Override(msgspec.Struct, frozen=True, omit_defaults=True):
    """An operator's word on one GPU.

    Attributes:
        who: The operator.
        why: In the operator's words.
        given: When, with its zone. With ``kind`` it tells one word from a later one.
        until: When it ends by itself; None: it does not.
        uuid: The board it was said of. "" is whichever is at that index.
    """

    kind: OverrideKind
    who: str
    why: str
    given: datetime
    until: datetime | None = None
    uuid: str = ""


def format_ids(indexes: Iterable[int]) -> str | None:
    """The value of `UNHEALTHY_IDS`; None: no annotation."""
    return ",".join(map(str, sorted(set(indexes)))) or None


def parse_ids(value: str | None) -> tuple[frozenset[int], str]:
    """The indexes of an annotation, whoever wrote it.

    Returns: what can be read, and what is wrong with the rest; "" where nothing is.
    """
    if value is None:
        return frozenset(), ""
    parts = [part.strip() for part in value.split(",")]
    read = {part: _index(part) for part in parts}
    wrong = [part for part, index in read.items() if index is None]
    found = frozenset(index for index in read.values() if index is not None)
    if not wrong:
        return found, ""
    return found, f"{UNHEALTHY_IDS} is {value!r}: {wrong[0]!r} is no index of a GPU"


def _index(text: str) -> int | None:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < len("10000") else -1
    return number if 0 <= number <= HIGHEST_INDEX else None


def format_health(unfit: Iterable[UnfitGpu]) -> str | None:
    """The value of `HEALTH`; None: no annotation."""
    listed = sorted(unfit, key=lambda gpu: gpu.index)
    return msgspec.json.encode(listed).decode() if listed else None


def parse_health(value: str | None) -> tuple[tuple[UnfitGpu, ...], str]:
    """The unfit GPUs of an annotation, and what is wrong with it; "" where nothing is.

    One entry that is not understood costs none of the others.
    """
    if value is None:
        return (), ""
    wrong = f"{HEALTH} is not what a node agent writes"
    try:
        listed = msgspec.json.decode(value, type=tuple[msgspec.Raw, ...])
    except _UNREADABLE as error:
        return (), f"{wrong}: {error}"
    unfit, problems = [], []
    for raw in listed:
        try:
            gpu = msgspec.json.decode(raw, type=UnfitGpu)
            unfit.append(_in_utc(gpu, since=gpu.since, until=gpu.until))
        except (*_UNREADABLE, OverflowError) as error:
            problems.append(str(error))
    return tuple(unfit), f"{wrong}: {'; '.join(problems)}" if problems else ""


def _in_utc(read: T, **times: datetime | None) -> T:
    """With these times in UTC.

    Raises:
        OverflowError: one of them is in no calendar.
    """
    known = {name: time.astimezone(UTC) for name, time in times.items() if time is not None}
    return msgspec.structs.replace(read, **known)


def format_overrides(overrides: Mapping[int, Override]) -> str | None:
    """The value of `OVERRIDES`; None: no annotation."""
    if not overrides:
        return None
    return msgspec.json.encode({str(i): overrides[i] for i in sorted(overrides)}).decode()


def parse_overrides(value: str | None) -> tuple[dict[int, Override], str]:
    """An operator's words by index, and what is wrong with them; "" where nothing is.

    One word that is not understood costs none of the others.
    """
    try:
        found = _entries(value)
    except ValueError as error:
        return {}, str(error)
    overrides: dict[int, Override] = {}
    problems = []
    for key, raw in found.items():
        index = _index(key)
        if index is None:
            problems.append(f"{OVERRIDES}: {key!r} is no index of a GPU")
            continue
        try:
            overrides[index] = _word(raw)
        except ValueError as error:
            problems.append(f"{OVERRIDES}, of GPU {key}: {error}")
    return overrides, "; ".join(problems)


def spoken_of(value: str | None) -> frozenset[int] | None:
    """The indexes that an annotation has a word on, be it understood or not; None: who knows."""
    try:
        found = _entries(value)
    except ValueError:
        return None
    return frozenset(index for key in found if (index := _index(key)) is not None)


def _entries(value: str | None) -> dict[str, msgspec.Raw]:
    """The words of an annotation by what should be indexes, as they were written.

    Raises:
        ValueError: it is no JSON object.
    """
    if value is None:
        return {}
    try:
        return msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    except _UNREADABLE as error:
        raise ValueError(f"{OVERRIDES} is not a JSON object: {error}") from error


def _word(raw: msgspec.Raw) -> Override:
    """One word, its times in UTC.

    Raises:
        ValueError: it is none.
    """
    try:
        word = msgspec.json.decode(raw, type=Override)
        if any(time is not None and time.tzinfo is None for time in (word.given, word.until)):
            raise ValueError("a time has no zone: write 2026-01-31T12:00:00Z")
        return _in_utc(word, given=word.given, until=word.until)
    except (*_UNREADABLE, OverflowError) as error:
        raise ValueError(str(error)) from error


def with_override(value: str | None, index: int, override: Override) -> str:
    """The value of `OVERRIDES` with one more word; other words stay as they were written.

    Raises:
        ValueError: what is there is no JSON object.
    """
    kept: dict[str, Any] = {
        key: word for key, word in _entries(value).items() if _index(key) != index
    }
    return msgspec.json.encode(kept | {str(index): override}).decode()
