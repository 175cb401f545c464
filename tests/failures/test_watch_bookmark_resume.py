"""Long after the last event its version may be compacted: bookmarks keep the place."""

from __future__ import annotations

from aiohttp import web

from tests.failures.kube_script import ScriptedApiServer, following, pod, say_events, until


async def test_a_watch_resumes_from_the_last_bookmark() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))
        async with following(server) as followed:
            await until(lambda: followed.reflector.status.watches == 1, "a watch")
            await server.bookmark()
            await until(lambda: followed.reflector.status.bookmarks == 1, "the bookmark")
            await server.vanish()
            await server.listen()
            await until(lambda: len(server.asked.watches) == 2, "a second watch")
        assert server.asked.watches[0]["allowWatchBookmarks"] == "true"
        assert server.asked.watches[1]["resourceVersion"] == str(server.version)
        assert len(server.asked.lists) == 1


async def test_a_bookmark_that_goes_back_means_another_history() -> None:
    """The store was restored from a backup: versions that we saw will be given again."""
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))
        await server.put(pod("lost"))
        past = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "50"}}}

        async def restored(request: web.Request) -> web.StreamResponse:
            server.change_unseen(delete=["uid-lost"])
            return await say_events(past)(request)

        server.next_watches.append(restored)
        async with following(server) as followed:
            await until(lambda: followed.names() == {"first"}, "the list after it")
        assert len(server.asked.lists) == 2
