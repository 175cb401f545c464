"""What watches GPUs fails by a bug of ours: it is begun again, and until then that is said."""

import pytest

from nodeagent.health import watching
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.observations import Presence, Reading, Tell
from tests.healthwatch import unfit, until_verdicts
from tests.reportbed import WELL, NodeClock, listed, xid

LOST = Reading(Presence.LOST)


class Failing:
    """A source that fails until it is mended."""

    mended = False

    async def watch(self, tell: Tell) -> None:
        tell(listed(WELL, LOST if self.mended else WELL))
        raise RuntimeError("never thought of that")


async def test_it_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "FIRST_PAUSE_S", 0.01)
    source = Failing()
    monitor = HealthMonitor([source], now=NodeClock())
    await monitor.start()
    await until_verdicts(monitor, lambda _: monitor.problems)
    assert monitor.problems == ("Failing has failed and is begun again: never thought of that",)
    source.mended = True
    await until_verdicts(monitor, lambda them: unfit(them) == [1])
    await monitor.stop()


async def test_the_others_go_on_meanwhile() -> None:
    monitor = HealthMonitor([Failing()], now=NodeClock())
    await monitor.start()
    await until_verdicts(monitor, lambda _: monitor.problems)
    monitor.tell(xid(79, 0, 1000.0))
    assert unfit(monitor.verdicts) == [0]
    await monitor.stop()


class Stopping:
    """A source that ends as if there were nothing more to see."""

    async def watch(self, tell: Tell) -> None:
        tell(listed(WELL, WELL))


async def test_one_that_stops_by_itself_is_no_better() -> None:
    monitor = HealthMonitor([Stopping()], now=NodeClock())
    await monitor.start()
    await until_verdicts(monitor, lambda _: monitor.problems)
    assert "it has stopped by itself" in monitor.problems[0]
    await monitor.stop()
