"""The wall clock jumps: nothing is written for that, and no report is older for it."""

from nodeagent.health.observations import Presence, Reading
from tests.reportbed import WELL, bed, reporting

YEAR_S = 365 * 86_400.0
LOST = Reading(Presence.LOST)


async def test_a_clock_that_is_set_is_no_reason_to_write() -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read(WELL, LOST)
        await there.until_ids("1")
        before = (there.patches, there.annotations)
        for jump in (YEAR_S, -2 * YEAR_S, 60.0, -0.5):
            there.clock.wall += jump
            there.clock.boot_s += 5
            agent.read(WELL, LOST)
            there.heartbeat()
            await there.settled()
        assert (there.patches, there.annotations) == before


async def test_what_happens_in_a_year_that_no_calendar_has_is_reported() -> None:
    async with bed() as there, reporting(there) as agent:
        there.clock.wall = 1e15
        agent.read(WELL, LOST)
        await there.until_ids("1")
        assert '"since"' not in there.annotations["gpupods.io/gpu-health"]
