"""The extender on the controller's HTTP port, beside all that was there before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from controller.extender.leadership import BIND_HERE, LeaderPod
from controller.extender.service import BIND, FILTER
from controller.http.posting import Post
from controller.http.server import HttpServer
from gpupods.addresses import HostPort
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from gpupods.kube.failures import ApiError
from tests.failures.extending import Extended, extending

DEADLINE_S = 20.0


def served(extended: Extended) -> AbstractAsyncContextManager[str]:
    return listening(extended.extender.posts())


@asynccontextmanager
async def listening(posts: Mapping[str, Post] | None) -> AsyncIterator[str]:
    server = HttpServer([], None, DEADLINE_S, posts=posts)  # type: ignore[arg-type]
    address = await server.start(HostPort("127.0.0.1", 0))
    try:
        yield f"http://{address}"
    finally:
        await server.stop(0.1)


async def test_a_scheduler_asks() -> None:
    async with extending() as extended, served(extended) as url, aiohttp.ClientSession() as client:
        extended.node()
        asked = {"Pod": extended.pod("first", memory=1), "NodeNames": ["node-1"]}
        async with client.post(url + FILTER, json=asked) as response:
            assert response.status == 200
            assert response.content_type == "application/json"
            assert (await response.json())["NodeNames"] == ["node-1"]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_only_by_post(method: str) -> None:
    async with (
        extending() as extended,
        served(extended) as url,
        aiohttp.ClientSession() as client,
        client.request(method, url + BIND) as response,
    ):
        assert response.status == 501
        assert (await response.json())["code"] == 12


async def test_a_body_without_end_is_cut_off() -> None:
    async def answer(_: bytes) -> tuple[int, bytes]:
        raise AssertionError("it was read whole")

    async with (
        listening({"/x": Post(answer, 1000)}) as url,
        aiohttp.ClientSession() as client,
        client.post(f"{url}/x", data=b"x" * 1001) as response,
    ):
        assert response.status == 400
        assert "too large" in (await response.json())["message"]


async def test_without_the_extender_the_paths_are_not_there() -> None:
    async with (
        listening(None) as url,
        aiohttp.ClientSession() as client,
        client.post(url + FILTER, data=b"{}") as response,
    ):
        assert response.status == 404


# A standby's way to the leader


@asynccontextmanager
async def leader_pods(*addresses: str) -> AsyncIterator[tuple[LeaderPod, list[str]]]:
    """Replicas at the port of a server that answers for them; what it was asked.

    ``addresses`` are what a pod has, one look-up after the other; the last one stays.
    """
    asked: list[str] = []
    left = list(addresses)

    async def pod(request: web.Request) -> web.Response:
        asked.append(request.path)
        address = left.pop(0) if len(left) > 1 else left[0]
        return web.json_response({"status": {"podIP": address} if address else {}})

    async def bind(request: web.Request) -> web.Response:
        asked.append(f"{request.path} {(await request.read()).decode()}")
        return web.Response(body=b'{"Error":"as the leader says"}')

    app = web.Application()
    app.router.add_get("/api/v1/namespaces/gpupods-system/pods/{name}", pod)
    app.router.add_post(BIND_HERE, bind)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    api = KubeApi(KubeAccess.without_credentials(f"http://127.0.0.1:{port}"))
    pods = LeaderPod(api, "gpupods-system", port)
    try:
        yield pods, asked
    finally:
        await pods.close()
        await api.close()
        await runner.cleanup()


async def test_the_leader_s_answer_is_the_answer() -> None:
    async with leader_pods("127.0.0.1") as (pods, asked):
        for _ in range(2):
            answer = await pods.bind("controller-2", b'{"Node":"n"}')
        assert json.loads(answer) == {"Error": "as the leader says"}
        look_up = "/api/v1/namespaces/gpupods-system/pods/controller-2"
        passed_on = f'{BIND_HERE} {{"Node":"n"}}'
        assert asked == [look_up, passed_on, passed_on], "its address is asked for once"


async def test_a_leader_without_an_address() -> None:
    async with leader_pods("") as (pods, _):
        with pytest.raises(ApiError, match="pod gpupods-system/controller-2 has no address"):
            await pods.bind("controller-2", b"{}")


async def test_a_leader_at_an_address_where_nobody_is() -> None:
    async with leader_pods("::1") as (pods, _):
        with pytest.raises(aiohttp.ClientError):
            await pods.bind("controller-2", b"{}")


async def test_a_leader_whose_pod_has_another_address_after_its_node_was_restarted() -> None:
    async with leader_pods("::1", "127.0.0.1") as (pods, _):
        with pytest.raises(aiohttp.ClientError):
            await pods.bind("controller-2", b"{}")
        assert b"as the leader says" in await pods.bind("controller-2", b"{}")


async def test_who_hangs_up_has_begun_what_may_be_done_all_the_same() -> None:
    """A scheduler's patience ends while the API server binds: the cards stay held."""
    async with extending() as extended, served(extended) as url:
        extended.node(gpus=1)
        extended.pod("first", memory=1)
        arrived = asyncio.Event()

        async def never(_: web.Request) -> web.StreamResponse:
            arrived.set()
            await asyncio.sleep(3600)
            raise AssertionError

        extended.server.next_answers.append(never)
        body = b'{"PodName":"first","PodNamespace":"team","PodUID":"uid-first","Node":"node-1"}'
        async with aiohttp.ClientSession() as client:
            asking = asyncio.create_task(client.post(url + BIND, data=body))
            await arrived.wait()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        assert await extended.bind("first") == ""
        assert len(extended.server.asked) == 2
        answer = await extended.filter(extended.pod("second", memory=4096))
        assert answer["NodeNames"] == []
