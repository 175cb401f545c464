"""What is told is placed, judged and passed on; what changes nothing is not."""

from __future__ import annotations

import pytest

from gpupods.identity import GpuUuid
from nodeagent.health.condition import Now
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.observations import (
    DriverRead,
    DriverSilent,
    ListedGpu,
    Presence,
    Reading,
    SourceTrouble,
    Word,
    XidOfGpu,
    XidSeen,
)
from nodeagent.health.verdict import Verdict

WORD = Word("anna", "looks odd", 1_800_000_000.0)


class Clock:
    """A boot's clock that a test moves."""

    boot_s = 1000.0

    def __call__(self) -> Now:
        return Now("boot-1", self.boot_s, 1_800_000_000.0 + self.boot_s)


def listed(*letters: str) -> DriverRead:
    return DriverRead(
        tuple(
            ListedGpu(
                index,
                GpuUuid(f"GPU-{letter}"),
                f"00000000:{index + 1:02X}:00.0",
                "H100",
                Reading(Presence.PRESENT, 0),
            )
            for index, letter in enumerate(letters)
        )
    )


def xid(number: int, *, uuid: str = "", pci: str = "", at_s: float = 1000.0) -> XidOfGpu:
    return XidOfGpu(GpuUuid(uuid), pci, XidSeen(number, at_s, "kernel log"))


def unfit(monitor: HealthMonitor) -> list[int]:
    return [verdict.index for verdict in monitor.verdicts if not verdict.fit]


@pytest.fixture
def monitor() -> HealthMonitor:
    return HealthMonitor(now=Clock())


def test_an_xid_is_placed_by_uuid_or_by_address(monitor: HealthMonitor) -> None:
    monitor.tell(listed("A", "B", "C"))
    monitor.tell(xid(79, uuid="GPU-B"))
    monitor.tell(xid(79, pci="0000:03:00"))
    assert unfit(monitor) == [1, 2]


def test_one_from_before_the_first_reading_waits_for_its_gpu(monitor: HealthMonitor) -> None:
    monitor.tell(xid(79, pci="0000:02:00"))
    monitor.note_kernel_log(7)
    assert unfit(monitor) == []
    assert monitor.kernel_log_mark.sequence == -1, "it must be told again after a restart"
    monitor.tell(listed("A", "B"))
    assert unfit(monitor) == [1]
    assert monitor.kernel_log_mark.sequence == 7, "now it need not be"


def test_one_of_no_gpu_makes_none_unfit(monitor: HealthMonitor) -> None:
    monitor.tell(listed("A", "B"))
    monitor.tell(xid(79))
    monitor.tell(xid(79, pci="0000:ee:00"))
    monitor.tell(listed("A", "B"))
    assert unfit(monitor) == []


def test_a_silent_driver_concerns_every_gpu(monitor: HealthMonitor) -> None:
    monitor.tell(DriverSilent(Presence.DRIVER_HANGS, "early"))
    assert unfit(monitor) == []
    monitor.tell(listed("A", "B"))
    monitor.tell(DriverSilent(Presence.DRIVER_HANGS, "in nvmlInit"))
    assert unfit(monitor) == [0, 1]
    assert "in nvmlInit" in monitor.verdicts[0].reason


def test_subscribers_hear_of_changes_and_of_nothing_else(monitor: HealthMonitor) -> None:
    heard: list[tuple[Verdict, ...]] = []
    monitor.subscribe(heard.append)
    monitor.tell(listed("A", "B"))
    monitor.tell(listed("A", "B"))
    version = monitor.version
    monitor.tell(xid(13, uuid="GPU-A"))
    assert [len(them) for them in heard] == [0, 2]
    assert monitor.version == version
    monitor.tell(xid(79, uuid="GPU-A"))
    assert len(heard) == 3
    assert heard[-1] == monitor.verdicts


def test_an_operators_word(monitor: HealthMonitor) -> None:
    monitor.tell(listed("A", "B"))
    assert monitor.exclude(1, WORD).who == "anna"
    assert unfit(monitor) == [1]
    assert monitor.restore(1, WORD).fit


@pytest.mark.parametrize("index", [-1, 2, 99])
def test_a_word_about_an_index_beyond_the_count(monitor: HealthMonitor, index: int) -> None:
    monitor.tell(listed("A", "B"))
    with pytest.raises(KeyError, match=f"no GPU of index {index}; those it has: 0, 1"):
        monitor.exclude(index, WORD)
    assert unfit(monitor) == []


def test_troubles_are_known_until_they_are_over(monitor: HealthMonitor) -> None:
    monitor.tell(SourceTrouble("kernel log", "cannot be read"))
    assert list(monitor.problems) == ["cannot be read"]
    monitor.tell(SourceTrouble("kernel log", ""))
    assert not list(monitor.problems)


def test_one_that_can_be_of_no_gpu_does_not_hold_up_the_kernel_log(monitor: HealthMonitor) -> None:
    monitor.tell(listed("A", "B"))
    monitor.tell(xid(79))
    monitor.note_kernel_log(7)
    assert monitor.kernel_log_mark.sequence == 7


def test_a_subscriber_that_fails_costs_the_others_nothing(monitor: HealthMonitor) -> None:
    heard: list[tuple[Verdict, ...]] = []

    def broken(verdicts: tuple[Verdict, ...]) -> None:
        if verdicts:
            raise RuntimeError("never thought of that")

    monitor.subscribe(broken)
    monitor.subscribe(heard.append)
    monitor.tell(listed("A", "B"))
    assert heard[-1] == monitor.verdicts != ()
