"""The kernel log cannot be read: it is said once, and everything else is watched all the same."""

import asyncio
from pathlib import Path

from nodeagent.health.observations import CaughtUp, SourceTrouble, Told
from tests.driverprocess import FIRST
from tests.fakedriver.faults import Event
from tests.healthwatch import AMPLE_S, unfit, watching
from tests.kernellog import kernel_log


async def test_events_are_heard_all_the_same(tmp_path: Path) -> None:
    log = kernel_log(path=tmp_path / "none")
    async with watching(tmp_path, sources=[log]) as watched:
        (problem,) = watched.monitor.problems
        assert f"{tmp_path / 'none'} cannot be read (No such file or directory)" in problem
        assert "mount /dev/kmsg" in problem
        watched.fake.post(Event.xid(FIRST, 79))
        await watched.until(unfit)


class CountedPath:
    """No file's; counts how often it was asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def __fspath__(self) -> str:
        self.asked += 1
        return "/none/at/all"


async def test_it_is_told_once_and_tried_again() -> None:
    told: list[Told] = []
    path = CountedPath()
    log = asyncio.create_task(kernel_log(path=path, again_s=0.001).watch(told.append))
    async with asyncio.timeout(AMPLE_S):
        while path.asked < 20:  # noqa: ASYNC110 - what is awaited has no other end
            await asyncio.sleep(0.001)
    log.cancel()
    assert [type(each) for each in told] == [SourceTrouble, CaughtUp]


async def test_a_file_that_is_no_log_is_not_read_again_and_again(tmp_path: Path) -> None:
    file = tmp_path / "kern.log"
    file.write_text("Nov 30 12:00:00 node kernel: NVRM: Xid (PCI:0000:c4:00): 79, gone\n")
    told: list[Told] = []
    log = asyncio.create_task(kernel_log(path=file).watch(told.append))
    async with asyncio.timeout(AMPLE_S):
        while len(told) < 2:  # noqa: ASYNC110 - what is awaited has no other end
            await asyncio.sleep(0.001)
    log.cancel()
    assert isinstance(told[0], SourceTrouble)
    assert "cannot be read (it has an end, as the kernel's log has not)" in told[0].problem
    assert isinstance(told[1], CaughtUp)
