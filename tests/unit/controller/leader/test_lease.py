from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from controller.leader.lease import Claim, lease_from, lease_object, micro_time

NOW = datetime(2026, 11, 30, 9, 0, 0, 250_000, UTC)


def test_a_new_lease() -> None:
    claim = Claim("me_1", 3, 0, anew=True, over=None)
    assert lease_object(claim, "gpupods-system", "gpupods-controller", NOW) == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": "gpupods-system", "name": "gpupods-controller"},
        "spec": {
            "holderIdentity": "me_1",
            "leaseDurationSeconds": 3,
            "leaseTransitions": 0,
            "acquireTime": "2026-11-30T09:00:00.250000Z",
            "renewTime": "2026-11-30T09:00:00.250000Z",
        },
    }


def test_what_others_have_written_there_stays() -> None:
    metadata = {"name": "l", "namespace": "n", "resourceVersion": "7", "labels": {"a": "b"}}
    spec = {
        "holderIdentity": "me_1",
        "leaseDurationSeconds": 3,
        "acquireTime": "t",
        "strategy": "x",
    }
    seen = lease_from({"metadata": metadata, "spec": spec})
    renewed = lease_object(Claim("me_1", 3, 0, anew=False, over=seen), "n", "l", NOW)
    assert renewed["metadata"] == metadata
    assert renewed["spec"]["acquireTime"] == "t"
    assert renewed["spec"]["strategy"] == "x"
    assert renewed["spec"]["renewTime"] == "2026-11-30T09:00:00.250000Z"


def test_a_lease_is_read() -> None:
    spec = {"holderIdentity": "x", "leaseDurationSeconds": 15, "leaseTransitions": 4}
    lease = lease_from({"metadata": {"resourceVersion": "7"}, "spec": spec})
    assert (lease.holder, lease.duration_s, lease.transitions, lease.version) == ("x", 15, 4, "7")


@pytest.mark.parametrize("spec", [None, {}, {"holderIdentity": None, "leaseTransitions": None}])
def test_one_that_nobody_has_filled_is_nobodys(spec: object) -> None:
    lease = lease_from({"metadata": {"resourceVersion": "7"}, "spec": spec})
    assert (lease.holder, lease.duration_s, lease.transitions) == ("", 0, 0)


@pytest.mark.parametrize(
    "thing",
    [
        {},
        {"metadata": {}},
        {"metadata": None},
        {"metadata": {"resourceVersion": "1"}, "spec": "none"},
        {"metadata": {"resourceVersion": "1"}, "spec": {"leaseTransitions": "many"}},
    ],
)
def test_something_else_is_no_lease(thing: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not a Lease"):
        lease_from(thing)


def test_times_are_utc_with_six_digits() -> None:
    there = timezone(timedelta(hours=2))
    assert micro_time(datetime(2026, 1, 2, 3, 4, 5, tzinfo=there)) == "2026-01-02T01:04:05.000000Z"
