"""What the Node should carry, from verdicts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupods.node_annotations import parse_health, parse_ids
from nodeagent.health.verdict import Standing
from nodeagent.reporting.report import ALL_FIT, report_before_judgement, report_of
from tests.unit.nodeagent.reporting.verdicts import excluded, fit, unfit


def test_where_all_are_fit_there_is_no_annotation() -> None:
    report = report_of([fit(0), fit(1)])
    assert (report.ids, report.health, report.gpus) == (None, None, ())
    assert report.message == ALL_FIT
    assert not report.unfit


def test_each_unfit_gpu_is_there_with_its_reason() -> None:
    report = report_of([unfit(0), fit(1), excluded(3, until=1.9e9)])
    assert report.ids == "0,3"
    assert json.loads(report.health or "") == [
        {
            "index": 0,
            "uuid": "GPU-0",
            "pciAddress": "00000000:01:00.0",
            "standing": "unfit",
            "reason": "XID 79: the GPU has fallen off the bus",
            "since": "2027-01-15T08:00:00Z",
            "action": "restart the node",
            "source": "nvml",
            "xid": 79,
        },
        {
            "index": 3,
            "uuid": "GPU-3",
            "pciAddress": "00000000:04:00.0",
            "standing": "excluded",
            "reason": "excluded by anna: odd",
            "since": "2027-01-15T08:00:00Z",
            "action": "ask anna",
            "source": "operator",
            "who": "anna",
            "until": "2030-03-17T17:46:40Z",
        },
    ]
    assert report.message == (
        "GPU 0: XID 79: the GPU has fallen off the bus; GPU 3: excluded by anna: odd"
    )


def test_one_that_recovers_is_still_out() -> None:
    report = report_of([unfit(2, Standing.RECOVERING)])
    assert report.ids == "2"
    assert report.gpus[0].standing == "recovering"


def test_a_reason_of_any_length_and_script_stays_a_line() -> None:
    report = report_of([replace(unfit(0), reason="line\nline " + "x" * 10_000)])
    assert len(report.gpus[0].reason) < 500
    assert "\n" not in report.message


@pytest.mark.parametrize("since", [float(2**60), -1e12, 1e18])
def test_a_time_that_no_calendar_has_is_left_out(since: float) -> None:
    assert report_of([unfit(0, since=since)]).gpus[0].since is None


@given(st.lists(st.integers(0, 15), unique=True))
def test_what_is_written_can_be_read_again(indexes: list[int]) -> None:
    report = report_of([unfit(index) for index in indexes])
    assert parse_ids(report.ids) == (frozenset(indexes), "")
    assert parse_health(report.health) == (report.gpus, "")


class TestBeforeJudgement:
    def test_what_is_known_already_is_added(self) -> None:
        before = report_of([unfit(0)])
        report = report_before_judgement([fit(0), unfit(1)], before.ids, before.health)
        assert report is not None
        assert report.ids == "0,1"
        assert [gpu.index for gpu in report.gpus] == [0, 1]

    def test_nothing_is_taken_away(self) -> None:
        assert report_before_judgement([fit(0), fit(1)], "0,1", None) is None
        assert report_before_judgement([], "0", "rubbish") is None

    def test_nothing_is_written_anew_that_is_there(self) -> None:
        assert report_before_judgement([unfit(0)], "0", None) is None

    def test_indexes_without_a_reason_stay(self) -> None:
        report = report_before_judgement([unfit(2)], "0", None)
        assert report is not None
        assert report.ids == "0,2"
        assert [gpu.index for gpu in report.gpus] == [2]
