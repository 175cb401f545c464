from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from gpupods.node_annotations import (
    HIGHEST_INDEX,
    Override,
    OverrideKind,
    UnfitGpu,
    UnfitStanding,
    format_health,
    format_ids,
    format_overrides,
    parse_health,
    parse_ids,
    parse_overrides,
)

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
LOST = UnfitGpu(
    index=3,
    uuid="GPU-3",
    pci_address="00000000:3B:00.0",
    standing=UnfitStanding.UNFIT,
    reason="XID 79: the GPU has fallen off the bus",
    since=AT,
    action="restart the node",
    source="nvml",
    xid=79,
)
EXCLUDED = UnfitGpu(
    index=0, uuid="GPU-0", pci_address="p", standing=UnfitStanding.EXCLUDED, reason="r", who="anna"
)
WORD = Override(OverrideKind.EXCLUDE, "anna", "it is noisy", AT, AT + timedelta(days=1), "GPU-0")


def test_ids_are_digits_and_commas_ascending() -> None:
    assert format_ids([3, 0, 10, 3]) == "0,3,10"


def test_no_ids_is_no_annotation() -> None:
    assert format_ids([]) is None
    assert parse_ids(None) == (frozenset(), "")


@given(some.frozensets(some.integers(0, HIGHEST_INDEX)))
def test_ids_are_read_as_they_are_written(indexes: frozenset[int]) -> None:
    assert parse_ids(format_ids(indexes)) == (indexes, "")


@pytest.mark.parametrize(
    ("value", "read", "wrong"),
    [
        ("", set(), "''"),
        ("0, 3", {0, 3}, ""),
        ("0,,3", {0, 3}, "''"),
        ("0,x", {0}, "'x'"),
        ("-1", set(), "'-1'"),
        ("1024", set(), "'1024'"),
        ("9" * 5000, set(), "no index"),
        ("٣", set(), "no index"),
        ("0;1", set(), "'0;1'"),
    ],
)
def test_ids_of_another_tool(value: str, read: set[int], wrong: str) -> None:
    """A space is passed over here, though Volcano's scheduler takes offence at it."""
    found, problem = parse_ids(value)
    assert found == read
    assert wrong in problem
    assert bool(problem) is bool(wrong)


def test_health_is_read_as_it_is_written() -> None:
    assert parse_health(format_health([LOST, EXCLUDED])) == ((EXCLUDED, LOST), "")


def test_health_as_other_programs_see_it() -> None:
    assert format_health([LOST]) == (
        '[{"index":3,"uuid":"GPU-3","pciAddress":"00000000:3B:00.0","standing":"unfit",'
        '"reason":"XID 79: the GPU has fallen off the bus","since":"2026-01-31T12:00:00Z",'
        '"action":"restart the node","source":"nvml","xid":79}]'
    )
    assert format_health([]) is None


NESTED = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("value", ["", "{}", "[1]", '[{"index":"x"}]', "\udc80", NESTED])
def test_health_of_another_tool(value: str) -> None:
    found, problem = parse_health(value)
    assert found == ()
    assert "not what a node agent writes" in problem


@pytest.mark.parametrize(
    ("field", "value", "wrong"),
    [
        ("index", -1, "index"),
        ("index", HIGHEST_INDEX + 1, "index"),
        ("xid", -1, "xid"),
        ("xid", 2**32, "xid"),
        ("since", "2026-01-31T12:00:00", "timezone"),
        ("until", "0001-01-01T00:00:00+14:00", "range"),
    ],
)
def test_one_gpu_that_is_not_understood_costs_no_other(
    field: str, value: str | int, wrong: str
) -> None:
    """Whoever may write to the Node may write this, and it must stop nobody who reads all Nodes."""
    bad = msgspec.to_builtins(LOST) | {field: value}
    found, problem = parse_health(msgspec.json.encode([bad, EXCLUDED]).decode())
    assert found == (EXCLUDED,)
    assert wrong in problem


def test_times_of_health_are_read_in_utc() -> None:
    there = AT.astimezone(timezone(timedelta(hours=5)))
    ((gpu,), problem) = parse_health(format_health([msgspec.structs.replace(LOST, since=there)]))
    assert (gpu.since, problem) == (AT, "")
    assert gpu.since is not None
    assert gpu.since.tzinfo is UTC


def test_health_of_a_newer_agent_has_more_in_it() -> None:
    written = (format_health([LOST]) or "").replace('"index"', '"new":[1],"index"')
    assert parse_health(written) == ((LOST,), "")


def test_overrides_are_read_as_they_are_written() -> None:
    words = {10: WORD, 2: Override(OverrideKind.RESTORE, "bert", "", AT)}
    assert parse_overrides(format_overrides(words)) == (words, "")
    assert format_overrides({}) is None


def test_overrides_as_other_programs_see_them() -> None:
    assert format_overrides({0: WORD}) == (
        '{"0":{"kind":"exclude","who":"anna","why":"it is noisy","given":"2026-01-31T12:00:00Z",'
        '"until":"2026-02-01T12:00:00Z","uuid":"GPU-0"}}'
    )


@pytest.mark.parametrize("value", ["", "[]", "null", "x", "\udc80", NESTED, f'{{"0": {NESTED}}}'])
def test_overrides_that_are_none(value: str) -> None:
    found, problem = parse_overrides(value)
    assert found == {}
    assert "not a JSON object" in problem


@pytest.mark.parametrize(
    ("key", "word", "wrong"),
    [
        ("x", WORD, "'x' is no index"),
        ("1", {"kind": "exclude"}, "of GPU 1: .*missing required field"),
        ("1", {"kind": "sell", "who": "", "why": "", "given": "2026-01-31T12:00:00Z"}, "sell"),
        ("1", {"kind": "exclude", "who": "", "why": "", "given": "2026-01-31T12:00:00"}, "zone"),
        (
            "1",
            {"kind": "exclude", "who": "", "why": "", "given": "0001-01-01T00:00:00+14:00"},
            "range",
        ),
    ],
)
def test_one_word_that_is_not_understood_costs_no_other(
    key: str, word: Override | dict[str, str], wrong: str
) -> None:
    value = msgspec.json.encode({"0": WORD, key: word}).decode()
    found, problem = parse_overrides(value)
    assert found == {0: WORD}
    assert re.search(wrong, problem)


def test_times_of_other_zones_are_the_same_times() -> None:
    there = AT.astimezone(timezone(timedelta(hours=5)))
    word = Override(OverrideKind.EXCLUDE, "anna", "", there)
    found, _ = parse_overrides(format_overrides({0: word}))
    assert found[0].given == AT
    assert found[0].given.tzinfo is UTC
