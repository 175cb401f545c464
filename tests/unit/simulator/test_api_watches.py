from __future__ import annotations

import asyncio

import aiohttp
import pytest

from simulator.changes import change_addresses, delete_pod, restart_container, start_pod
from simulator.model import Verb
from simulator.plans import PodPlan
from tests.unit.simulator.api_client import Served
from tests.unit.simulator.small import LOGGER

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


async def version_of(served: Served, resource: str = "pods") -> str:
    _, listed = await served.get(f"/api/v1/{resource}")
    return str(listed["metadata"]["resourceVersion"])


async def test_changes_after_the_list_come_in_order() -> None:
    async with Served() as served:
        world = served.world
        version = await version_of(served)
        restart_container(world.cluster, world.pod, "trainer")
        async with served.watch(f"/api/v1/pods?watch=1&resourceVersion={version}") as events:
            kind, pod = await events.next()
            assert (kind, pod["status"]["containerStatuses"][0]["restartCount"]) == ("MODIFIED", 1)
            new = start_pod(world.cluster, world.node, PodPlan("web", "web-0", (LOGGER,)))
            delete_pod(world.cluster, new)
            assert [(await events.next())[0] for _ in range(2)] == ["ADDED", "DELETED"]


async def test_without_a_version_what_is_there_comes_first() -> None:
    async with Served() as served, served.watch("/api/v1/nodes?watch=true") as events:
        kind, node = await events.next()
        assert (kind, node["metadata"]["name"]) == ("ADDED", "gpu-1")
        change_addresses(served.world.cluster, served.world.node, ["127.1.0.9"])
        kind, node = await events.next()
        assert kind == "MODIFIED"
        assert node["status"]["addresses"][0]["address"] == "127.1.0.9"


async def test_initial_events_end_with_a_bookmark() -> None:
    query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
    query += "&resourceVersionMatch=NotOlderThan"
    async with Served() as served, served.watch(f"/api/v1/pods?{query}") as events:
        assert (await events.next())[0] == "ADDED"
        kind, bookmark = await events.next()
        assert kind == "BOOKMARK"
        assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_quiet_watch_gets_bookmarks_if_it_wants_them() -> None:
    async with Served() as served:
        served.server.bookmark_every_s = 0.01
        version = await version_of(served)
        path = f"/api/v1/pods?watch=1&resourceVersion={version}&allowWatchBookmarks=true"
        async with served.watch(path) as events:
            kind, bookmark = await events.next()
            assert (kind, bookmark["kind"]) == ("BOOKMARK", "Pod")
            assert bookmark["metadata"]["resourceVersion"] == version


async def test_a_compacted_version_is_a_410_in_the_stream() -> None:
    async with Served() as served:
        version = await version_of(served)
        restart_container(served.world.cluster, served.world.pod, "trainer")
        served.server.store.compact()
        async with served.watch(f"/api/v1/pods?watch=1&resourceVersion={version}") as events:
            kind, status = await events.next()
            assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
            assert await events.ended()


async def test_a_watch_ends_after_its_timeout() -> None:
    async with Served() as served:
        version = await version_of(served)
        path = f"/api/v1/pods?watch=1&resourceVersion={version}&timeoutSeconds=0"
        async with served.watch(path) as events:
            assert await events.ended()


async def test_leaving_the_selection_is_a_deletion_to_the_watcher() -> None:
    async with Served() as served:
        version = await version_of(served)
        query = f"watch=1&resourceVersion={version}&labelSelector=team=a"
        async with served.watch(f"/api/v1/pods?{query}") as events:
            pod = served.world.pod
            for labels in ({"team": "a"}, {"team": "a", "x": "y"}, {"team": "b"}):
                pod.labels = labels
                served.world.cluster.tell(Verb.MODIFIED, pod)
            kinds = [(await events.next())[0] for _ in range(3)]
            assert kinds == ["ADDED", "MODIFIED", "DELETED"]


async def test_a_table_watch_describes_its_columns_once() -> None:
    async with Served() as served, served.watch("/api/v1/pods?watch=1", Accept=TABLE) as events:
        _, first = await events.next()
        assert len(first["columnDefinitions"]) == 9
        restart_container(served.world.cluster, served.world.pod, "trainer")
        _, second = await events.next()
        assert second["columnDefinitions"] is None
        assert second["rows"][0]["cells"][3].startswith("1 (")


async def test_half_open_says_nothing_and_loses_nothing() -> None:
    async with Served() as served, served.watch("/api/v1/pods?watch=1") as events:
        await events.next()
        served.server.faults.set_half_open(half_open=True)
        restart_container(served.world.cluster, served.world.pod, "trainer")
        waiting = asyncio.create_task(events.next())
        request = asyncio.create_task(served.get("/api/v1/pods"))
        done, _ = await asyncio.wait({waiting, request}, timeout=0.1)
        assert not done
        served.server.faults.set_half_open(half_open=False)
        assert (await waiting)[0] == "MODIFIED"
        assert (await request)[0] == 200


async def test_away_breaks_connections_and_the_same_address_comes_back() -> None:
    async with Served() as served:
        url = served.server.url
        async with served.watch("/api/v1/pods?watch=1") as events:
            await events.next()
            await served.server.go_away()
            with pytest.raises((aiohttp.ClientError, AssertionError)):
                await events.next()
        with pytest.raises(aiohttp.ClientConnectorError):
            await served.get("/api/v1/pods")
        await served.server.come_back()
        assert served.server.url == url
        assert (await served.get("/api/v1/pods"))[0] == 200


async def test_refusals_are_given_in_turn() -> None:
    async with Served() as served:
        served.server.faults.refuse_next(429, "TooManyRequests", times=2)
        codes = [(await served.get("/api/v1/pods"))[0] for _ in range(3)]
        assert codes == [429, 429, 200]
