from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupods.diagnosis import (
    CLOCK_TOLERANCE_S,
    Asked,
    Check,
    Status,
    clock_check,
    failed,
    from_messages,
    ok,
    to_message,
    version_check,
    warning,
)
from gpupods.v1alpha1 import diagnosis_pb2 as pb


@pytest.mark.parametrize(
    ("ahead_s", "round_trip_s", "status"),
    [
        (0.0, 0.0, Status.OK),
        (0.9, 0.0, Status.OK),
        (1.5, 0.1, Status.WARNING),
        (-1.5, 0.1, Status.WARNING),
        (1.5, 4.0, Status.OK),  # it may all be the time on the way
        (300.0, 4.0, Status.WARNING),
    ],
)
def test_clocks(ahead_s: float, round_trip_s: float, status: Status) -> None:
    asked = Asked(1000.0, 1000.0 + round_trip_s)
    theirs = 1000.0 + round_trip_s / 2 + ahead_s
    assert clock_check(theirs, asked, "the controller's").status is status


def test_which_clock_is_ahead_is_said() -> None:
    asked = Asked(1000.0, 1000.2)
    ahead = clock_check(1060.1, asked, "the controller's")
    assert ahead.found == "60.0 s ahead of the controller's (give or take 0.1 s)"
    assert "chronyc" in ahead.advice
    behind = clock_check(940.1, asked, "the one here")
    assert behind.found == "60.0 s behind the one here (give or take 0.1 s)"


@given(st.floats(-CLOCK_TOLERANCE_S, CLOCK_TOLERANCE_S), st.floats(0, 10), st.floats(0, 1))
def test_a_clock_that_is_right_is_never_blamed(
    ahead_s: float, round_trip_s: float, share: float
) -> None:
    """Wherever on the way the other clock was read."""
    theirs = 1_000_000.0 + round_trip_s * share + ahead_s * 0.999
    asked = Asked(1_000_000.0, 1_000_000.0 + round_trip_s)
    assert clock_check(theirs, asked, "x").status is Status.OK


def test_versions() -> None:
    assert version_check("1.2.3", "1.2.3", "x") == ok("version", "1.2.3")
    other = version_check("1.2.3", "1.3.0", "the controller")
    assert other.status is Status.WARNING
    assert other.found == "1.2.3, and that of the controller is 1.3.0"
    assert version_check("", "1.3.0", "x").found.startswith("unknown")


@pytest.mark.parametrize(
    "check", [ok("a", "b"), warning("a", "b", "c"), failed("host pids", "b", "c")]
)
def test_a_check_is_the_same_after_the_way_through_a_message(check: Check) -> None:
    sent = pb.Check.FromString(to_message(check).SerializeToString())
    assert from_messages([sent]) == (check,)


def test_a_status_of_a_later_version_is_a_warning() -> None:
    (check,) = from_messages([pb.Check(name="new", status=17, found="x")])  # type: ignore[arg-type]
    assert check.status is Status.WARNING
