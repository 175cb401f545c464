"""The stream ends when it should not, or at once each time it is opened."""

from __future__ import annotations

import asyncio
import json

from aiohttp import web

from tests.failures.kube_script import (
    ScriptedApiServer,
    following,
    pod,
    say_events,
    say_lines,
    until,
)


async def test_a_stream_cut_in_the_middle_of_an_event_resumes() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))

        async def cut(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            await response.write(b'{"type":"ADDED","object":{"metadata":{"na')
            await asyncio.sleep(0)
            assert request.transport is not None
            request.transport.abort()
            return response

        server.next_watches.append(cut)
        async with following(server) as followed:
            await until(lambda: len(server.asked.watches) == 2, "a second watch")
            await server.put(pod("second"))
            await until(lambda: followed.names() == {"first", "second"}, "the change")
        assert len(server.asked.lists) == 1
        assert server.asked.watches[0]["resourceVersion"] == "101"
        assert server.asked.watches[1]["resourceVersion"] == "101"


async def test_a_server_that_ends_every_watch_at_once_is_not_asked_without_pauses() -> None:
    async with ScriptedApiServer() as server:
        server.next_watches.extend([say_lines()] * 20)
        async with following(server) as followed:
            await until(lambda: len(server.asked.watches) >= 21, "the first watch that holds")
        assert len(followed.clock.pauses) == 20
        assert sum(followed.clock.pauses) > 100
        assert len(server.asked.lists) == 1


async def test_a_line_that_is_no_event_makes_for_a_new_list() -> None:
    async with ScriptedApiServer() as server:
        first = pod("first")
        first["metadata"]["resourceVersion"] = "150"
        good = {"type": "ADDED", "object": first}
        server.next_watches.append(say_events(good))

        async def nonsense(request: web.Request) -> web.StreamResponse:
            await server.put(pod("second"))
            return await say_lines(b"<html>a proxy's page</html>")(request)

        server.next_watches.append(nonsense)
        async with following(server) as followed:
            await until(lambda: followed.names() == {"second"}, "the list after it")
            assert "not a watch event" in followed.reflector.status.last_error
        assert server.asked.watches[1]["resourceVersion"] == "150"
        assert len(server.asked.lists) == 2, "from 150 the same line would come again"


async def test_an_event_that_comes_in_small_pieces_is_put_together() -> None:
    async with ScriptedApiServer() as server:
        large = pod("large", message="x" * 300_000)
        large["metadata"]["resourceVersion"] = "150"

        async def dribble(request: web.Request) -> web.StreamResponse:
            response = await begin(request)
            line = json.dumps({"type": "ADDED", "object": large}).encode()
            for start in range(0, len(line), 10_007):
                await response.write(line[start : start + 10_007])
                await asyncio.sleep(0)
            await response.write(b"\n")
            return response

        server.next_watches.append(dribble)
        async with following(server) as followed:
            await until(lambda: followed.knows("uid-large"), "the large pod")


async def begin(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    return response
