"""The API server is away, for minutes, and comes back."""

from __future__ import annotations

from tests.failures.kube_script import ScriptedApiServer, following, pod, until

TEN_MINUTES_S = 600.0
LEAST_PAUSE_S = 7.5
"""Once the pauses have grown."""


async def test_it_goes_and_comes_back() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))
        async with following(server) as followed:
            await until(lambda: followed.reflector.status.watches == 1, "a watch")
            await server.vanish()
            start = followed.clock.monotonic()
            await until(
                lambda: followed.clock.monotonic() - start >= TEN_MINUTES_S, "ten minutes of pauses"
            )
            status = followed.reflector.status
            away_s = followed.clock.monotonic() - start
            assert status.failures <= 6 + away_s / LEAST_PAUSE_S
            assert followed.names() == {"first"}, "what was known stays"
            assert followed.reflector.synced.is_set()
            assert status.stale_since is not None
            assert status.stale_since - 1_000_000.0 <= start + 1.0

            await server.listen()
            await server.put(pod("second"))
            await until(lambda: followed.names() == {"first", "second"}, "the change since")
            assert status.stale_since is None
        assert len(server.asked.lists) == 1, "it resumed where it was"


async def test_it_is_not_there_yet_when_we_start() -> None:
    async with ScriptedApiServer() as server:
        await server.vanish()
        async with following(server) as followed:
            await until(lambda: followed.reflector.status.failures >= 3, "three attempts")
            assert not followed.cache.synced
            assert "Cannot connect" in followed.cache.why_not_synced()
            await server.put(pod("first"))
            await server.listen()
            await until(followed.reflector.synced.is_set, "the list")
            assert followed.names() == {"first"}
