"""When a caller is told that the cluster's data is old."""

from __future__ import annotations

from controller.controller import own_target, staleness
from gpupods.addresses import HostPort
from gpupods.kube.status import ReflectorStatus


def test_a_watch_that_is_being_renewed_is_no_news() -> None:
    reflectors = [ReflectorStatus("pods", stale_since=95.0), ReflectorStatus("nodes")]
    assert staleness(reflectors, now=100.0) == ""


def test_an_api_server_that_is_away_is_told_with_the_reason() -> None:
    reflectors = [
        ReflectorStatus("pods", stale_since=60.0, last_error="connection refused"),
        ReflectorStatus("nodes"),
    ]
    assert staleness(reflectors, now=100.0) == (
        "the API server is not followed at present: pods as of 40 s ago (connection refused)"
    )


def test_a_server_that_listens_everywhere_reaches_itself_over_loopback() -> None:
    assert own_target(HostPort("::", 80)) == "ipv4:127.0.0.1:80"
    assert own_target(HostPort("fd00::1", 80)) == "ipv6:[fd00::1]:80"
