"""The server no longer keeps the version that a watch asks for."""

from __future__ import annotations

from tests.failures.kube_script import (
    ScriptedApiServer,
    following,
    pod,
    refuse,
    say_events,
    status,
    until,
)

EXPIRED = {"type": "ERROR", "object": status(410, "Expired", "too old resource version")}


async def test_410_in_the_stream_lists_again() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))
        server.next_watches.append(say_events(EXPIRED))
        async with following(server) as followed:
            await until(lambda: len(server.asked.lists) == 2, "a second list")
            await server.put(pod("second"))
            await until(lambda: followed.names() == {"first", "second"}, "the change after it")
        assert len(server.asked.lists) == 2


async def test_410_as_http_status_lists_again() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))
        server.next_watches.append(refuse(410, "Gone"))
        async with following(server) as followed:
            await until(lambda: len(server.asked.lists) == 2, "a second list")
            await server.put(pod("second"))
            await until(lambda: followed.names() == {"first", "second"}, "the change after it")


async def test_410_again_and_again_lists_ever_more_rarely() -> None:
    """Each list of a large cluster is expensive: the pauses grow although each list succeeds."""
    async with ScriptedApiServer() as server:
        server.next_watches.extend([say_events(EXPIRED)] * 12)
        async with following(server) as followed:
            await until(
                lambda: (
                    len(server.asked.watches) >= 13
                    and followed.reflector.status.stale_since is None
                ),
                "the first watch that holds",
            )
        assert len(server.asked.lists) == 13
        pauses = followed.clock.pauses
        assert len(pauses) == 12
        assert all(later >= 7.5 for later in pauses[6:])
        assert followed.reflector.status.failures == 12
