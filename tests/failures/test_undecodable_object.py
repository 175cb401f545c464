"""One object that is not of the shape that the API promises must not hide the others."""

from __future__ import annotations

import json

import pytest
from structlog.testing import capture_logs

from tests.failures.kube_script import Json, ScriptedApiServer, following, pod, say_lines, until


def broken(name: str) -> Json:
    return pod(name) | {"spec": {"nodeName": 7}}


async def test_in_a_list_it_is_counted_and_left_out() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("good"))
        for number in range(5):
            await server.put(broken(f"bad-{number}"))
        with capture_logs() as logs:
            async with following(server) as followed:
                await until(followed.reflector.synced.is_set, "the list")
                assert followed.names() == {"good"}
                assert followed.reflector.status.undecodable == 5
        complaints = [line for line in logs if line["event"] == "an object cannot be read"]
        assert len(complaints) == 1, "once for each kind of complaint"
        assert complaints[0]["name"] == "bad-0"
        assert "nodeName" in complaints[0]["why"]


async def test_in_a_watch_the_events_after_it_are_taken() -> None:
    async with ScriptedApiServer() as server:
        async with following(server) as followed:
            await until(lambda: followed.reflector.status.watches == 1, "a watch")
            await server.put(broken("bad"))
            await server.put(pod("good"))
            await until(lambda: followed.names() == {"good"}, "the event after it")
            assert followed.reflector.status.undecodable == 1
            assert followed.reflector.status.failures == 0
        assert len(server.asked.lists) == 1


async def test_what_was_known_of_it_stays_until_it_is_deleted() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("one"))
        async with following(server) as followed:
            await until(lambda: followed.reflector.status.watches == 1, "a watch")
            await server.put(broken("one"))
            await until(lambda: followed.reflector.status.undecodable == 1, "the broken state")
            assert followed.knows("uid-one")
            await server.delete("uid-one")
            await until(lambda: not followed.knows("uid-one"), "its end")


@pytest.mark.parametrize(
    "item",
    [
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"metadata":null}',
        b'{"metadata":{"uid":1}}',
        b'{"metadata":{"uid":"u","name":"n","namespace":"s"},"status":{"containerStatuses":{}}}',
        b'{"metadata":{"uid":"u","name":"\xff\xfe","namespace":"s"}}',
    ],
)
async def test_whatever_it_is(item: bytes) -> None:
    after = pod("after")
    after["metadata"]["resourceVersion"] = "150"
    lines = [
        b'{"type":"ADDED","object":' + item + b"}",
        json.dumps({"type": "ADDED", "object": after}).encode(),
    ]
    async with ScriptedApiServer() as server:
        server.next_watches.append(say_lines(*lines))
        async with following(server) as followed:
            await until(lambda: followed.names() == {"after"}, "the event after it")
            assert followed.reflector.status.undecodable == 1


async def test_lists_that_are_null_are_empty() -> None:
    bare = {
        "metadata": {
            "name": "bare", "namespace": "team", "uid": "uid-bare",
            "ownerReferences": None, "labels": None,
        },
        "spec": {},
        "status": {"containerStatuses": None, "initContainerStatuses": None},
    }  # fmt: skip
    async with ScriptedApiServer() as server:
        await server.put(bare)
        async with following(server) as followed:
            await until(lambda: followed.names() == {"bare"}, "the bare pod")
            assert followed.reflector.status.undecodable == 0
