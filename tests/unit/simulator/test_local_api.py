"""The way to the API server without sockets: the same answers, faults and failures as with them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from gpupods.kube.encoding import Resource
from gpupods.kube.failures import ApiError, GoneError, RefusedError, UnreachableError
from gpupods.kube.json_encoding import JsonEncoding
from gpupods.kube.objects import Node
from simulator.apiserver.local import LocalApi
from simulator.changes import change_addresses
from tests.unit.simulator.api_client import Served

NODE = Resource("node", "/api/v1/nodes?fieldSelector=metadata.name%3Dgpu-1", (JsonEncoding(Node),))
OTHER = Resource("node", "/api/v1/nodes?fieldSelector=metadata.name%3Dx", (JsonEncoding(Node),))


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with Served() as running:
        yield running


@pytest.fixture(params=["here", "over HTTP"])
async def api(request: pytest.FixtureRequest, served: Served) -> AsyncIterator[KubeApi]:
    if request.param == "here":
        api: KubeApi = LocalApi(served.server)
    else:
        api = KubeApi(KubeAccess.without_credentials(served.server.url))
    yield api
    await api.close()


async def listed(
    api: KubeApi, resource: Resource[Node], version: str = "0"
) -> tuple[str, list[str]]:
    async with api.list_page(resource, limit=1, version=version, token="") as stream:
        reader = stream.encoding.page_reader()
        items = [item async for data in stream.chunks for item in reader.feed(data)]
        page = reader.finish()
        items += page.items
        names = [stream.encoding.item(item).metadata.name for item in items]
    return page.version, names


@asynccontextmanager
async def watched(api: KubeApi, version: str) -> AsyncIterator[AsyncIterator[str]]:
    async with api.watch(NODE, version=version, watch_s=30, margin_s=5) as stream:

        async def types() -> AsyncIterator[str]:
            frames = stream.encoding.frames()
            async for data in stream.chunks:
                for frame in frames.feed(data):
                    yield stream.encoding.event(frame).type

        yield types()


async def test_one_node_is_listed_and_then_watched(served: Served, api: KubeApi) -> None:
    version, names = await listed(api, NODE)
    assert names == ["gpu-1"]
    assert (await listed(api, OTHER))[1] == []
    async with watched(api, version) as types:
        change_addresses(served.world.cluster, served.world.node, ["127.1.0.2"])
        assert await anext(types) == "MODIFIED"


async def test_a_watch_ends_when_the_server_goes_away(served: Served, api: KubeApi) -> None:
    version, _ = await listed(api, NODE)
    with pytest.raises(UnreachableError):
        await watch_while_it_goes(served, api, version)
    with pytest.raises(UnreachableError):
        await listed(api, NODE)
    await served.server.come_back()
    assert (await listed(api, NODE))[1] == ["gpu-1"]


async def watch_while_it_goes(served: Served, api: KubeApi, version: str) -> None:
    async with watched(api, version) as types:
        await served.server.go_away()
        await anext(types)


async def test_refusals_are_the_same(served: Served, api: KubeApi) -> None:
    served.server.faults.refuse_next(500, "InternalError")
    with pytest.raises(RefusedError) as raised:
        await listed(api, NODE)
    assert raised.value.status == 500
    served.server.faults.denied.add(("watch", "nodes"))
    with pytest.raises(ApiError, match="403"):
        async with watched(api, "0"):
            pytest.fail("it is watched")


async def test_a_version_that_is_no_longer_kept_is_gone(served: Served, api: KubeApi) -> None:
    version, _ = await listed(api, NODE)
    change_addresses(served.world.cluster, served.world.node, ["127.1.0.2"])
    served.server.store.compact()
    async with api.watch(NODE, version=version, watch_s=30, margin_s=5) as stream:
        frames = stream.encoding.frames()
        events = [
            stream.encoding.event(frame)
            async for data in stream.chunks
            for frame in frames.feed(data)
        ]
    assert [event.type for event in events] == ["ERROR"]
    assert stream.encoding.status(events[0].item).code == 410
    assert GoneError("").status == 410


async def test_what_is_written_is_written(served: Served, api: KubeApi) -> None:
    body = {"metadata": {"annotations": {"a": "b"}}}
    path = "/api/v1/nodes/gpu-1"
    await api.ask("PATCH", path, body, limit_s=5.0, media_type="application/merge-patch+json")
    assert served.world.node.annotations == {"a": "b"}
