"""A list of several pages that cannot be read to its end."""

from __future__ import annotations

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from gpupods.kube import api
from gpupods.kube.reflector import Pace
from tests.failures.kube_script import ScriptedApiServer, following, hang, pod, refuse, until

PAIRS = Pace(page_size=2)


async def test_an_expired_continue_token_begins_the_list_again() -> None:
    async with ScriptedApiServer() as server:
        for name in "abcde":
            await server.put(pod(name))
        server.next_lists.extend([server.list, refuse(410, "Expired")])
        async with following(server, pace=PAIRS) as followed:
            await until(followed.reflector.synced.is_set, "the whole list")
            assert followed.names() == set("abcde")
            assert len(followed.clock.pauses) == 1
        tokens = [query.get("continue") for query in server.asked.lists]
        assert tokens == [None, "2", None, "2", "4"]


async def test_a_page_that_is_cut_short_begins_the_list_again() -> None:
    async with ScriptedApiServer() as server:
        for name in "abcde":
            await server.put(pod(name))

        server.next_lists.extend([server.list, break_off])
        async with following(server, pace=PAIRS) as followed:
            await until(followed.reflector.synced.is_set, "the whole list")
            assert followed.names() == set("abcde")


async def test_only_the_first_list_may_be_of_what_the_server_remembers() -> None:
    """That is cheap and may lag; after what has been seen since, it could go back in time."""
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))
        server.next_watches.append(refuse(410, "Gone"))
        async with following(server):
            await until(lambda: len(server.asked.lists) == 2, "a second list")
    assert [query.get("resourceVersion") for query in server.asked.lists] == ["0", None]


async def test_a_list_that_was_too_much_at_once_is_then_asked_for_in_pages() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))
        server.next_lists.extend([refuse(503, "Unavailable"), break_off])
        async with following(server) as followed:
            await until(followed.reflector.synced.is_set, "the whole list")
    versions = [query.get("resourceVersion") for query in server.asked.lists]
    assert versions == ["0", "0", None], "a server that did not answer can be asked the same again"


async def break_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(b'{"metadata":{"resourceVersion":"101"},"items":[')
    assert request.transport is not None
    request.transport.abort()
    return response


async def test_a_list_that_falls_silent_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api, "SILENCE_LIMIT_S", 0.1)
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))
        server.next_lists.append(hang)
        async with following(server) as followed:
            await until(followed.reflector.synced.is_set, "the list in the end")
            assert "no answer in time" in followed.reflector.status.last_error
            assert followed.reflector.status.failures == 1


async def test_not_synced_before_the_last_page() -> None:
    states: list[bool] = []
    async with ScriptedApiServer() as server:
        for name in "abcde":
            await server.put(pod(name))
        async with following(server, pace=PAIRS) as followed:

            async def look(request: web.Request) -> web.StreamResponse:
                states.append(followed.reflector.synced.is_set() or followed.cache.synced)
                return await server.list(request)

            server.next_lists.extend([look] * 3)
            await until(followed.reflector.synced.is_set, "the whole list")
    assert states == [False] * 3


async def test_something_else_listens_there() -> None:
    async with ScriptedApiServer() as server:

        async def web_page(_: web.Request) -> web.StreamResponse:
            return web.Response(text="<html>welcome</html>", content_type="text/html")

        async def other_json(_: web.Request) -> web.StreamResponse:
            return web.json_response({"hello": "world"})

        server.next_lists.extend([web_page, other_json])
        with capture_logs() as logs:
            async with following(server) as followed:
                await until(followed.reflector.synced.is_set, "the right list")
        errors = [line["error"] for line in logs if "error" in line]
        assert len(errors) == 2
        assert "text/html" in errors[0]
        assert "not a Kubernetes list" in errors[1]
