"""Events that come twice, and events that come late."""

from __future__ import annotations

from typing import Any

from gpupods.identity import PodUid
from tests.failures.kube_script import Json, ScriptedApiServer, following, pod, say_events, until


def event(kind: str, item: Json, version: int) -> Json:
    return {
        "type": kind,
        "object": item | {"metadata": item["metadata"] | {"resourceVersion": str(version)}},
    }


def moved(item: Json, **status: Any) -> Json:
    return item | {"status": item["status"] | status}


async def test_the_same_event_twice_changes_nothing_more() -> None:
    one = event("ADDED", pod("one"), 201)
    gone = event("DELETED", pod("two"), 203)
    async with ScriptedApiServer() as server:
        server.next_watches.append(
            say_events(one, one, event("ADDED", pod("two"), 202), gone, gone)
        )
        async with following(server) as followed:
            await until(lambda: followed.reflector.status.events == 5, "five events")
            assert followed.names() == {"one"}
            assert followed.cache.pod_count() == 1


async def test_an_event_that_comes_late_does_not_undo_a_later_one() -> None:
    async with ScriptedApiServer() as server:
        server.next_watches.append(
            say_events(
                event("ADDED", pod("gone"), 201),
                event("DELETED", pod("gone"), 203),
                event("MODIFIED", pod("gone"), 202),
                event("MODIFIED", moved(pod("done"), phase="Succeeded"), 205),
                event("ADDED", moved(pod("done"), phase="Pending"), 204),
            )
        )
        async with following(server) as followed:
            await until(lambda: followed.reflector.status.events == 5, "five events")
            assert followed.names() == {"done"}
            done = followed.cache.pod_by_uid(PodUid("uid-done"))
            assert done is not None
            assert done.phase == "Succeeded"
            assert followed.reflector.status.outdated == 2


async def test_objects_written_in_one_transaction_share_a_version() -> None:
    async with ScriptedApiServer() as server:
        server.next_watches.append(
            say_events(event("ADDED", pod("a"), 201), event("ADDED", pod("b"), 201))
        )
        async with following(server) as followed:
            await until(lambda: followed.names() == {"a", "b"}, "both")


async def test_an_event_of_a_pod_never_added_is_taken_as_it_is() -> None:
    async with ScriptedApiServer() as server:
        server.next_watches.append(
            say_events(event("DELETED", pod("unknown"), 201), event("MODIFIED", pod("new"), 202))
        )
        async with following(server) as followed:
            await until(lambda: followed.reflector.status.events == 2, "both events")
            assert followed.names() == {"new"}
