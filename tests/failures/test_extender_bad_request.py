"""What no scheduler sends is answered in words, where the scheduler reads them."""

from __future__ import annotations

import json

import pytest

from controller.extender.service import (
    BIND,
    FILTER,
    PRIORITIZE,
    VOLCANO_PREDICATE,
    VOLCANO_PRIORITIZE,
)
from tests.failures.extending import extending

DEEP = b'{"x":' + b"[" * 100_000
BROKEN = (b"", b"{", b"[]", b"null", b'{"Pod": 7, "task": 7}', b"\xff\xfe", b'{"Pod": {}}', DEEP)


@pytest.mark.parametrize("body", BROKEN, ids=lambda body: repr(body[:24]))
async def test_what_is_no_request(body: bytes) -> None:
    async with extending() as extended:
        for path, key in (
            (FILTER, "Error"),
            (BIND, "Error"),
            (VOLCANO_PREDICATE, "status"),
            (VOLCANO_PRIORITIZE, "errorMessage"),
        ):
            status, answer = await extended.post(path, body)
            assert status == 200
            assert answer[key].startswith("the request "), (path, answer)
        status, answer = await extended.post(PRIORITIZE, body)
        assert status == 400, "its answer has no place for an error"
        assert answer["Error"]


async def test_a_request_without_a_pod() -> None:
    async with extending() as extended:
        body = json.dumps({"Pod": None, "NodeNames": ["node-1"]}).encode()
        assert (await extended.post(FILTER, body))[1]["Error"] == "the request has no pod"
        body = json.dumps({"task": {}, "node": {"Name": "node-1"}}).encode()
        answer = (await extended.post(VOLCANO_PREDICATE, body))[1]
        assert answer == {"status": "the request has no pod", "code": 1}


async def test_a_node_without_a_name() -> None:
    async with extending() as extended:
        pod = extended.pod("first", memory=1)
        body = json.dumps({"Pod": pod, "Nodes": {"items": [{"metadata": {}}]}}).encode()
        error = (await extended.post(FILTER, body))[1]["Error"]
        assert error == "the request has a node without a name"


async def test_a_limit_that_is_no_quantity() -> None:
    async with extending() as extended:
        extended.node()
        pod = extended.pod("first", memory=1)
        limits = pod["spec"]["containers"][0]["resources"]["limits"]
        limits["volcano.sh/gpu-memory"] = "much"
        error = (await extended.filter(pod))["Error"]
        assert error.startswith("pod team/first: its limit of volcano.sh/gpu-memory: 'much' is no")


async def test_nodes_that_nobody_knows() -> None:
    async with extending() as extended:
        extended.node()
        pod = extended.pod("first", memory=1)
        answer = await extended.filter(pod, "node-1", "node-9")
        assert answer["NodeNames"] == ["node-1"]
        assert "does not know yet" in answer["FailedAndUnresolvableNodes"]["node-9"]
        assert (await extended.prioritize(pod, "node-9")) == {"node-9": 0}
        assert "node node-9 is not known" in await extended.bind("first", "node-9")


async def test_a_pod_that_nobody_knows() -> None:
    async with extending() as extended:
        extended.node()
        assert "pod team/nobody is not known" in await extended.bind("nobody")


async def test_a_pod_that_asks_for_no_gpu() -> None:
    async with extending() as extended:
        extended.node(gpus=0)
        pod = extended.pod("plain")
        assert (await extended.filter(pod, "node-1", "node-9"))["NodeNames"] == ["node-1", "node-9"]
        assert await extended.prioritize(pod, "node-1") == {"node-1": 0}
        assert await extended.predicate(pod) == {"status": "", "code": 0}
        assert "managedResources" in await extended.bind("plain")
        assert extended.server.asked == []
