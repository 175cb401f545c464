"""A replica that does not lead, or does not follow the API server, evicts nobody."""

from __future__ import annotations

from tests.failures.evicting import ENOUGH_S, SERVING, evicting


async def test_a_standby_evicts_nobody_and_begins_to_count_when_it_leads() -> None:
    async with evicting() as at:
        pod = at.pod(SERVING)
        await at.make_unfit(1)
        at.hindered.append("this replica is a standby")
        await at.long_after()
        await at.later(60.0)
        assert at.pod(SERVING) is pod
        at.hindered.clear()
        await at.later(0.0)
        assert at.pod(SERVING) is pod, "it has not known of it for a minute yet"
        await at.later(ENOUGH_S)
        assert at.pod(SERVING) is None
