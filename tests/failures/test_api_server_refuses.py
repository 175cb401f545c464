"""The API server is there and does not let us: 401, 403, 429, 503."""

from __future__ import annotations

import pytest
from aiohttp import web

from tests.failures.kube_script import ScriptedApiServer, following, pod, refuse, until


@pytest.mark.parametrize(
    ("code", "reason", "told"),
    [
        (401, "Unauthorized", "does not accept the credentials"),
        (403, "Forbidden", "role must allow list and watch"),
    ],
)
async def test_it_is_said_clearly_and_tried_again(code: int, reason: str, told: str) -> None:
    reasons: list[str] = []
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))
        async with following(server) as followed:

            async def look(request: web.Request) -> web.StreamResponse:
                reasons.append(followed.cache.why_not_synced())
                return await server.list(request)

            server.next_lists.extend([*[refuse(code, reason)] * 3, look])
            await until(lambda: followed.names() == {"first"}, "the list in the end")
            assert len(followed.clock.pauses) == 3
            assert told in followed.reflector.status.last_error
    assert f": {code} scripted: " in reasons[0]
    assert told in reasons[0]


async def test_what_was_known_stays_while_a_watch_is_forbidden() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))
        server.next_watches.extend([refuse(403, "Forbidden")] * 3)
        async with following(server) as followed:
            await until(lambda: len(server.asked.watches) == 4, "a watch that holds")
            assert followed.names() == {"first"}
        assert len(server.asked.lists) == 1


@pytest.mark.parametrize(("code", "reason"), [(429, "TooManyRequests"), (503, "Unavailable")])
async def test_retry_after_is_kept_to(code: int, reason: str) -> None:
    async with ScriptedApiServer() as server:
        server.next_lists.append(refuse(code, reason, {"Retry-After": "7"}))
        async with following(server) as followed:
            await until(followed.reflector.synced.is_set, "the list in the end")
            assert 7.0 <= followed.clock.pauses[0] <= 8.0


@pytest.mark.parametrize("asked", ["86400", "9" * 400])
async def test_retry_after_does_not_stop_it_for_a_day(asked: str) -> None:
    async with ScriptedApiServer() as server:
        server.next_lists.append(refuse(429, "TooManyRequests", {"Retry-After": asked}))
        async with following(server) as followed:
            await until(followed.reflector.synced.is_set, "the list in the end")
            assert 60.0 <= followed.clock.pauses[0] <= 61.0
