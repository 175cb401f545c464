"""XIDs in the kernel log: those of cards that send no events, and those from before the start."""

from pathlib import Path

import pytest

from nodeagent.health.memory import LogMark
from nodeagent.health.sources.kernel_log import KernelLog
from tests.driverprocess import TWO_GPUS
from tests.healthwatch import unfit, watching
from tests.kernellog import kernel_log, needs_kmsg, newest_record, write_line, write_xid

pytestmark = needs_kmsg
FIRST_ADDRESS, SECOND_ADDRESS = (gpu.pci.lower().removesuffix(".0") for gpu in TWO_GPUS.gpus)


@pytest.fixture
def mark() -> list[int]:
    """Where the log is now: what other tests wrote is not this one's."""
    write_line("gpupods test begins")
    return [newest_record()]


def source(mark: list[int], *, any_facility: bool = True) -> KernelLog:
    return kernel_log(
        heard=lambda: LogMark("this boot", mark[-1]), note=mark.append, any_facility=any_facility
    )


async def test_one_that_is_written_now_is_told(tmp_path: Path, mark: list[int]) -> None:
    async with watching(tmp_path, sources=[source(mark)]) as watched:
        write_xid(SECOND_ADDRESS, 79)
        await watched.until(unfit)
        assert unfit(watched.verdicts) == [1]
        _, second = watched.verdicts
        assert (second.xid, second.source) == (79, "kernel log")
        assert "GPU has fallen off the bus." in second.reason


async def test_one_from_before_the_start_is_told_with_its_time(
    tmp_path: Path, mark: list[int]
) -> None:
    write_xid(FIRST_ADDRESS, 119, "Timeout")
    async with watching(tmp_path, sources=[source(mark)]) as watched:
        await watched.until(unfit)
        assert watched.verdicts[0].xid == 119


async def test_what_was_heard_before_a_restart_is_not_told_again(
    tmp_path: Path, mark: list[int]
) -> None:
    write_xid(FIRST_ADDRESS, 999)
    async with watching(tmp_path / "a", sources=[source(mark)]) as watched:
        await watched.until(unfit)
    async with watching(tmp_path / "b", sources=[source(mark)]) as watched:
        write_xid(SECOND_ADDRESS, 79)
        await watched.until(unfit)
        assert unfit(watched.verdicts) == [1]


async def test_what_a_process_wrote_is_not_believed(tmp_path: Path, mark: list[int]) -> None:
    heard: list[int] = []
    log = kernel_log(any_facility=False, note=heard.append)
    async with watching(tmp_path, sources=[log]) as watched:
        write_xid(FIRST_ADDRESS, 79)
        await watched.readings(5)
        assert unfit(watched.verdicts) == []
        assert heard == []


async def test_one_of_an_address_that_no_gpu_has_makes_none_unfit(
    tmp_path: Path, mark: list[int]
) -> None:
    async with watching(tmp_path, sources=[source(mark)]) as watched:
        write_xid("0000:ee:00", 79)
        write_xid(FIRST_ADDRESS, 119)
        await watched.until(unfit)
        assert unfit(watched.verdicts) == [0]
        assert watched.verdicts[0].xid == 119
