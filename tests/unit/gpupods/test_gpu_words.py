"""What an operator's word amounts to: as values, and what of a command line is refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import click
import pytest

from gpupods.cli.__main__ import run
from gpupods.cli.exit_codes import ExitCode
from gpupods.cli.gpu.judge import (
    NodeSeen,
    Standing,
    beyond,
    counts_no_gpu,
    dated,
    nothing_to_restore,
    standing,
)
from gpupods.cli.gpu.times import Moment, until
from gpupods.node_annotations import (
    HEALTH,
    OVERRIDES,
    UNHEALTHY_IDS,
    Override,
    OverrideKind,
    UnfitGpu,
    UnfitStanding,
    format_health,
    format_overrides,
    parse_overrides,
    with_override,
)

NOW = datetime(2026, 11, 30, 12, 0, 0, 250_000, tzinfo=UTC)
LATER = NOW + timedelta(hours=8)
S = timedelta(seconds=1)


def word(kind: OverrideKind = OverrideKind.EXCLUDE, **parts: object) -> Override:
    fields: dict[str, object] = {"who": "ada", "why": "hot", "given": NOW} | parts
    return Override(kind, **fields)  # type: ignore[arg-type]


RESTORE = word(OverrideKind.RESTORE)


def unfit(index: int = 1, stands: UnfitStanding = UnfitStanding.UNFIT, **parts: object) -> UnfitGpu:
    fields: dict[str, object] = {"reason": "XID 79", "since": NOW - 60 * S} | parts
    return UnfitGpu(index, "GPU-b", "0:0", stands, **fields)  # type: ignore[arg-type]


def excluded(**parts: object) -> UnfitGpu:
    fields: dict[str, object] = {"who": "ada", "since": NOW.replace(microsecond=0)} | parts
    return unfit(1, UnfitStanding.EXCLUDED, **fields)


def node(
    *gpus: UnfitGpu,
    ids: str | None = None,
    words: Mapping[int, Override] | None = None,
    **capacity: str,
) -> NodeSeen:
    told = {
        HEALTH: format_health(gpus),
        UNHEALTHY_IDS: ids if ids is not None else ",".join(str(gpu.index) for gpu in gpus) or None,
        OVERRIDES: format_overrides(words or {}),
    }
    annotations = {name: value for name, value in told.items() if value is not None}
    resources = {name.replace("__", "/").replace("_", "-"): n for name, n in capacity.items()}
    resources = {
        name.replace("nvidia/", "nvidia.com/").replace("volcano/", "volcano.sh/"): n
        for name, n in resources.items()
    }
    return NodeSeen("n1", "7", annotations, resources)


# The index


@pytest.mark.parametrize(
    ("seen", "index", "refused"),
    [
        (node(), 900, ""),
        (node(nvidia__gpu="8"), 7, ""),
        (node(nvidia__gpu="8"), 8, "8 GPUs by its capacity of nvidia.com/gpu: 0 to 7"),
        (node(nvidia__gpu="1"), 1, "1 GPU by its capacity of nvidia.com/gpu: 0 alone"),
        (node(nvidia__gpu="0"), 3, ""),
        (node(nvidia__gpu="4", nvidia__mig_1g="7"), 6, ""),
        (node(nvidia__gpu="4", volcano__gpu_number="8"), 6, ""),
        (node(nvidia__gpu="32", volcano__gpu_number="8"), 9, "by its capacity of volcano.sh/gpu-n"),
        (node(unfit(7), nvidia__gpu="7"), 7, ""),
        (node(ids="7", nvidia__gpu="7"), 7, ""),
        (node(nvidia__gpu="many"), 3, ""),
    ],
)
def test_an_index_that_there_cannot_be(seen: NodeSeen, index: int, refused: str) -> None:
    found = beyond(seen, index)
    assert bool(found) is bool(refused)
    assert refused in found


@pytest.mark.parametrize(
    ("seen", "none"),
    [
        (node(), True),
        (node(nvidia__gpu="0"), True),
        (node(nvidia__gpu="8"), False),
        (node(nvidia__mig_1g="7"), False),
        (node(volcano__gpu_number="8"), False),
        (node(unfit(7)), False),
        (node(words={1: word()}), True),
    ],
)
def test_a_node_that_speaks_of_no_gpu(seen: NodeSeen, *, none: bool) -> None:
    assert counts_no_gpu(seen) is none


# Whether there is anything to restore


@pytest.mark.parametrize(
    ("seen", "nothing"),
    [
        (node(), True),
        (node(unfit(2)), True),
        (node(unfit(1)), False),
        (node(ids="1"), False),
        (node(words={1: word()}), False),
        (node(words={1: word(until=NOW)}), True),
        (node(words={1: word(until=LATER)}), False),
        (node(words={1: RESTORE}), True),
    ],
)
def test_nothing_to_restore(seen: NodeSeen, *, nothing: bool) -> None:
    assert nothing_to_restore(seen, 1, NOW) is nothing


# When it was given


def test_a_word_is_later_than_the_last_one_and_than_what_it_restores() -> None:
    assert dated(word(), node(), 1).given == NOW
    ahead = word(given=NOW + 5 * S)
    assert dated(word(), node(words={1: ahead}), 1).given > ahead.given
    assert dated(word(), node(words={2: ahead}), 1).given == NOW
    from_a_clock_ahead = node(unfit(since=NOW + 30 * S))
    assert dated(RESTORE, from_a_clock_ahead, 1).given == NOW + 31 * S


# Whether it was taken


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (node(), Standing.WAITING),
        (node(unfit()), Standing.WAITING),
        (node(excluded()), Standing.TAKEN),
        (node(excluded(), ids=""), Standing.WAITING),
        (node(excluded(who="bob")), Standing.WAITING),
        (node(excluded(since=NOW - 3600 * S)), Standing.WAITING),
        (node(excluded(since=None)), Standing.WAITING),
    ],
)
def test_an_exclusion_is_taken(seen: NodeSeen, expected: Standing) -> None:
    assert standing(seen, 1, word()) is expected


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (node(), Standing.TAKEN),
        (node(unfit(2)), Standing.TAKEN),
        (node(unfit()), Standing.WAITING),
        (node(excluded()), Standing.WAITING),
        (node(ids="1"), Standing.WAITING),
        (node(unfit(since=NOW + S)), Standing.UNFIT_ANEW),
        (node(unfit(stands=UnfitStanding.RECOVERING, since=NOW + S)), Standing.UNFIT_ANEW),
        (node(excluded(since=NOW + S)), Standing.WAITING),
    ],
)
def test_a_restoration_is_taken(seen: NodeSeen, expected: Standing) -> None:
    assert standing(seen, 1, RESTORE) is expected


# What is written


def test_other_words_stay_byte_for_byte_even_those_nobody_understands() -> None:
    before = '{"0":{"kind":"exclude","of":"a later version"},"x":1,"01":{}}'
    after = with_override(before, 1, word())
    assert after.startswith('{"0":{"kind":"exclude","of":"a later version"},"x":1,"1":{')
    words, _ = parse_overrides(after)
    assert words == {1: word()}


@pytest.mark.parametrize("before", ["", "oops", "[]", "null", "{"])
def test_what_is_no_object_is_not_written_over(before: str) -> None:
    with pytest.raises(ValueError, match="is not a JSON object"):
        with_override(before, 1, word())


# Times


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-12-24T18:00Z", datetime(2026, 12, 24, 18, tzinfo=UTC)),
        ("2026-12-24T18:00+01:00", datetime(2026, 12, 24, 17, tzinfo=UTC)),
        (" 2026-12-24 18:00:30Z ", datetime(2026, 12, 24, 18, 0, 30, tzinfo=UTC)),
        ("2026-12-24T18:00", datetime(2026, 12, 24, 18).astimezone(UTC)),
    ],
)
def test_times(text: str, expected: datetime) -> None:
    assert Moment().convert(text, None, None) == expected


@pytest.mark.parametrize("text", ["", "tomorrow", "18:00", "2026-13-01", "0001-01-01T00:00+23:00"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(click.UsageError, match="is not a time: write 2026-12-24T18:00Z"):
        Moment().convert(text, None, None)


def test_until_when() -> None:
    assert until(None, None, NOW) is None
    assert until(LATER, None, NOW) == LATER
    assert until(None, 60.0, NOW) == NOW + 60 * S
    for moment, seconds in ((LATER, 1.0), (NOW, None), (None, 1e30)):
        with pytest.raises(click.UsageError):
            until(moment, seconds, NOW)


# The command line


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["exclude", "n1"], "Missing argument 'INDEX'"),
        (["exclude", "n1", "1"], "Missing option '--reason'"),
        (["exclude", "n1", "1", "--reason", " \t "], "--reason is empty"),
        (["exclude", "n1", "1", "--reason", "a\x1b[2J"], "--reason has control characters"),
        (["exclude", "n1", "1", "--reason", "x" * 1001], "longer than 1000 characters"),
        (["exclude", "n1", "1", "--reason", "x", "--who", ""], "--who is empty"),
        (["exclude", "n1", "-1", "--reason", "x"], "No such option"),
        (["exclude", "n1", "1024", "--reason", "x"], "1024 is not in the range 0<=x<=1023"),
        (["exclude", "n1", "GPU-1", "--reason", "x"], "'GPU-1' is no index of a GPU"),
        (["exclude", "n1", "0,3", "--reason", "x"], "write one number, such as 3"),
        (["exclude", "n1", "1", "--reason", "x", "--server", "s:1"], "by --kubeconfig or KUBE"),
        (["exclude", "n1", "1", "--reason", "x", "--until", "2020-01-01T00:00Z"], "and it is "),
        (["exclude", "n1", "1", "--reason", "x", "--for", "0s"], "more than 0 seconds"),
        (["exclude", "n1", "1", "--reason", "x", "--for", "1h", "--until", "2099-01-01"], "either"),
        (["restore", "n1", "1", "--reason", "x", "--for", "1h"], "No such option"),
    ],
)
def test_what_is_refused_before_anything_is_asked(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gpu", *arguments], "gpupods") == ExitCode.USAGE
    assert complaint in capsys.readouterr().err


def test_without_a_kubeconfig(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere/at/all")
    assert run(["gpu", "restore", "n1", "1", "--reason", "x"], "gpupods") == ExitCode.REFUSED
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("Error: kubeconfig /nowhere/at/all: no such file.")
    assert "with your own kubeconfig" in hint
