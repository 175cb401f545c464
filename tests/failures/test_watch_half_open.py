"""A connection that is open and dead: nothing comes, and nothing says that nothing will."""

from __future__ import annotations

from gpupods.kube.reflector import Pace
from tests.failures.kube_script import (
    ScriptedApiServer,
    following,
    hang,
    pod,
    refuse,
    say_lines,
    until,
)

SHORT = Pace(watch_s=0, margin_s=0.1)


async def test_a_watch_that_falls_silent_is_opened_again_where_it_was() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))
        server.next_watches.append(say_lines(then=hang))
        server.next_watches.append(say_lines(then=hang))
        async with following(server, pace=SHORT) as followed:
            await until(lambda: len(server.asked.watches) >= 2, "a second watch")
            await server.put(pod("second"))
            await until(lambda: followed.names() == {"first", "second"}, "the missed change")
            assert "no answer in time" in followed.reflector.status.last_error
        assert len(server.asked.lists) == 1


async def test_a_watch_that_is_not_even_answered_is_asked_for_again() -> None:
    async with ScriptedApiServer() as server:
        server.next_watches.append(hang)
        async with following(server, pace=SHORT) as followed:
            await until(lambda: len(server.asked.watches) >= 2, "a second watch")
            await server.put(pod("later"))
            await until(lambda: followed.knows("uid-later"), "the change")


async def test_a_stalled_server_is_left_alone_for_longer_and_longer() -> None:
    async with ScriptedApiServer() as server:
        server.next_watches.extend([hang] * 6)
        async with following(server, pace=SHORT) as followed:
            await until(lambda: len(followed.clock.pauses) >= 6, "six failures")
            pauses = followed.clock.pauses[:6]
        assert pauses[5] >= 7.5
        assert 0.25 <= pauses[0] <= 0.5


async def test_who_cannot_wait_for_that_watches_anew_and_knows_what_was_missed() -> None:
    async with ScriptedApiServer() as server:
        server.next_watches.append(say_lines(then=hang))
        async with following(server) as followed:
            await until(lambda: followed.reflector.status.watches == 1, "the dead watch")
            await server.put(pod("missed"))
            await followed.reflector.renew()
            assert followed.reflector.status.watches == 2
            await until(lambda: followed.knows("uid-missed"), "the missed change")
            assert followed.reflector.status.failures == 0
            assert followed.clock.pauses == []
        assert len(server.asked.lists) == 1


async def test_what_is_not_followed_at_all_is_waited_for() -> None:
    async with ScriptedApiServer() as server:
        server.next_watches.extend([refuse(503, "ServiceUnavailable")] * 2)
        async with following(server) as followed:
            await followed.reflector.renew()
            assert followed.reflector.status.watches == 1
            assert followed.reflector.status.stale_since is None
