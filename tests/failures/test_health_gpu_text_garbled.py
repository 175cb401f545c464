"""A GPU gives a text that is no UTF-8, as after an error on its bus: no other GPU is the worse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpupods.identity import GpuUuid
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.observations import DriverRead
from tests.driverprocess import FIRST, SECOND, TWO_GPUS
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.scenario import Scenario
from tests.healthwatch import Watching, unfit, watching
from tests.reportbed import WELL, NodeClock, listed, xid

GARBLED = "\u00ff\u00fe"


def garble(fake: FakeDriver, field: str) -> None:
    """Let the second GPU have a text in which the characters of GARBLED stand for bytes."""
    first, second = TWO_GPUS.gpus
    texts: dict[str, Any] = {field: f"GPU-{GARBLED}"}
    changed = replace(second, **texts)
    fake.write(Scenario((first, changed)))
    scenario = fake.scenario_path
    scenario.write_bytes(scenario.read_bytes().replace(GARBLED.encode(), GARBLED.encode("latin-1")))


@pytest.mark.parametrize("field", ["name", "pci"])
async def test_what_it_is_called_says_nothing_of_its_health(tmp_path: Path, field: str) -> None:
    fake = FakeDriver(tmp_path / "driver", TWO_GPUS)
    garble(fake, field)
    async with watching(tmp_path, fake=fake) as watched:
        await watched.readings()
        assert [(each.uuid, each.fit) for each in watched.verdicts] == [
            (FIRST, True),
            (SECOND, True),
        ]


@pytest.mark.parametrize("field", ["name", "pci"])
async def test_it_is_asked_again_until_it_tells(tmp_path: Path, field: str) -> None:
    fake = FakeDriver(tmp_path / "driver", TWO_GPUS)
    garble(fake, field)
    async with watching(tmp_path, fake=fake) as watched:
        fake.write(TWO_GPUS)
        await watched.until(lambda them: them[1].name and them[1].pci_address)
        assert unfit(watched.verdicts) == []


async def test_without_a_uuid_it_is_unfit_alone(tmp_path: Path) -> None:
    """It was known before: the driver has been loaded again since."""
    async with watching(tmp_path, state=True):
        pass
    fake = FakeDriver(tmp_path / "driver", TWO_GPUS)
    garble(fake, "uuid")
    async with watching(tmp_path, fake=fake, state=True) as watched:
        first, second = await watched.until(lambda them: unfit(them) == [1])
        assert (first.uuid, second.uuid) == (FIRST, SECOND)
        assert "the driver gave a text that is none" in second.reason
        await no_one_else(watched)


async def no_one_else(watched: Watching) -> None:
    await watched.readings()
    assert unfit(watched.verdicts) == [1]


def of_uuid(uuid: str) -> DriverRead:
    """The node's two GPUs, the second of this UUID."""
    first, second = listed(WELL, WELL).gpus
    return DriverRead((first, replace(second, uuid=GpuUuid(uuid))))


def test_another_uuid_is_no_other_board_while_it_was_there_all_the_time() -> None:
    """A text may be garbled and read well all the same."""
    monitor = HealthMonitor(now=NodeClock())
    monitor.tell(listed(WELL, WELL))
    monitor.tell(xid(142, 1, 1000.0))
    for _ in range(3):
        monitor.tell(of_uuid("GPU-ffffffff"))
    first, second = monitor.verdicts
    assert (first.fit, second.uuid, second.xid) == (True, "GPU-1", 142)
    assert "it says that it is GPU-ffffffff, and was not away" in second.others[0]


def test_one_that_was_away_may_have_been_replaced() -> None:
    monitor = HealthMonitor(now=NodeClock())
    monitor.tell(listed(WELL, WELL))
    monitor.tell(xid(142, 1, 1000.0))
    monitor.tell(DriverRead(listed(WELL).gpus))
    monitor.tell(of_uuid("GPU-new"))
    assert (monitor.verdicts[1].uuid, monitor.verdicts[1].fit) == ("GPU-new", True)
