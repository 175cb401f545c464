"""Health in the diagnosis: who is unfit is told, and what is not watched as it should be."""

from __future__ import annotations

import pytest

from gpupods.diagnosis import Check, Status
from nodeagent.diagnosis.health import gpu_health_check, health_watch_check
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.observations import Word
from tests.unit.nodeagent.health.test_monitor import Clock, listed, xid


@pytest.fixture
def monitor() -> HealthMonitor:
    monitor = HealthMonitor(now=Clock())
    monitor.tell(listed("A", "B", "C", "D", "E"))
    return monitor


def check_of(monitor: HealthMonitor) -> Check:
    return gpu_health_check(monitor.verdicts)


def test_all_are_fit(monitor: HealthMonitor) -> None:
    check = check_of(monitor)
    assert (check.status, check.found) == (Status.OK, "5 known, and none is unfit")
    assert gpu_health_check(()) == Check("GPU health", Status.OK, "no GPU is known to judge")


def test_one_that_is_unfit_is_told_with_what_to_do(monitor: HealthMonitor) -> None:
    monitor.tell(xid(79, uuid="GPU-D"))
    check = check_of(monitor)
    assert check.status is Status.FAILED
    assert check.found.startswith("GPU 3 is unfit: XID 79: ")
    assert check.advice == monitor.verdicts[3].action != ""


def test_of_many_some_are_named(monitor: HealthMonitor) -> None:
    for letter in "ABCDE":
        monitor.tell(xid(79, uuid=f"GPU-{letter}"))
    check = check_of(monitor)
    assert check.found.count("is unfit: ") == 3
    assert check.found.endswith(", and 2 more")
    assert check.advice == monitor.verdicts[0].action, "the same advice once"


def test_what_an_operator_excluded_is_a_warning(monitor: HealthMonitor) -> None:
    monitor.exclude(1, Word("anna", "looks odd", 1_800_000_000.0))
    check = check_of(monitor)
    assert check.status is Status.WARNING
    assert check.found == "GPU 1 is unfit (excluded): excluded by anna: looks odd"
    assert "ask anna" in check.advice


def test_one_that_is_unfit_is_told_before_those_that_are_excluded(monitor: HealthMonitor) -> None:
    for index in range(4):
        monitor.exclude(index, Word("anna", "looks odd", 1_800_000_000.0))
    monitor.tell(xid(79, uuid="GPU-E"))
    check = check_of(monitor)
    assert check.status is Status.FAILED
    assert check.found.startswith("GPU 4 is unfit: XID 79")


def test_nobody_watches() -> None:
    assert "--no-health" in gpu_health_check(None).found


def test_problems_of_the_watch_are_a_warning() -> None:
    assert health_watch_check(()).status is Status.OK
    check = health_watch_check(("/dev/kmsg cannot be read", "policy.toml, line 3: no class"))
    assert check.status is Status.WARNING
    assert check.found == "/dev/kmsg cannot be read; policy.toml, line 3: no class"
    assert check.advice
