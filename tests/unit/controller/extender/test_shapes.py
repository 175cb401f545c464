"""To the letter what the schedulers send and read: their own field names, at their own places."""

from __future__ import annotations

import json

import pytest

from controller.extender.service import BIND, FILTER, PRIORITIZE
from tests.failures.extending import CARD, extending

# As Go writes a v1.Pod: empty fields, nulls, and much that nobody here reads.
POD = """{"metadata":{"name":"first","namespace":"team","uid":"uid-first","resourceVersion":"7",
"creationTimestamp":null,"labels":{"a":"b"},"managedFields":[{"manager":"kubectl"}]},
"spec":{"volumes":null,"containers":[{"name":"main","image":"i","resources":{"limits":{"cpu":"1",
"volcano.sh/gpu-memory":"%s"},"requests":{"cpu":"1","volcano.sh/gpu-memory":"%s"}}}],
"restartPolicy":"Always","schedulerName":"default-scheduler","tolerations":[{"key":"x"}]},
"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","lastProbeTime":null}]}}"""


def asked(memory: str, nodes: str, names: str) -> bytes:
    pod = POD % (memory, memory)
    return f'{{"Pod":{pod},"Nodes":{nodes},"NodeNames":{names}}}'.encode()


async def test_filter_by_names() -> None:
    async with extending() as extended:
        extended.node("a")
        extended.node("b", unhealthy="0,1")
        _, answer = await extended.post(FILTER, asked("1Ki", "null", '["a","b"]'))
        assert answer == {
            "Nodes": None,
            "NodeNames": ["a"],
            "FailedNodes": {},
            "FailedAndUnresolvableNodes": {"b": "node b: GPU 0 is unfit, GPU 1 is unfit"},
            "Error": "",
        }


async def test_filter_by_whole_nodes_gives_them_back_as_they_came() -> None:
    async with extending() as extended:
        extended.node("a")
        extended.node("b", gpus=0)
        a = {"metadata": {"name": "a", "creationTimestamp": None}, "spec": {"x": [1, 2.50]}}
        b = {"metadata": {"name": "b"}}
        nodes = json.dumps({"metadata": {}, "items": [a, b]})
        _, answer = await extended.post(FILTER, asked("1", nodes, "null"))
        assert answer["Nodes"] == {"items": [a]}
        assert answer["NodeNames"] is None
        why = "node b: its capacity has no volcano.sh/gpu-number"
        assert answer["FailedAndUnresolvableNodes"] == {"b": why}


async def test_no_node_at_all_is_an_empty_list() -> None:
    async with extending() as extended:
        extended.node("a", unhealthy="0,1")
        _, answer = await extended.post(FILTER, asked("1", "null", '["a"]'))
        assert answer["NodeNames"] == [], "null would be read as if nothing had been said"
        _, answer = await extended.post(FILTER, asked("1", '{"items":null}', "null"))
        assert answer["Nodes"] == {"items": []}


async def test_prioritize() -> None:
    async with extending() as extended:
        extended.node("a")
        extended.node("b", card=2 * CARD)
        _, answer = await extended.post(PRIORITIZE, asked(str(CARD), "null", '["a","b","c"]'))
        assert answer == [
            {"Host": "a", "Score": 10},
            {"Host": "b", "Score": 5},
            {"Host": "c", "Score": 0},
        ]
        nodes = '{"items":[{"metadata":{"name":"b"}}]}'
        _, answer = await extended.post(PRIORITIZE, asked(str(CARD), nodes, "null"))
        assert answer == [{"Host": "b", "Score": 5}]


async def test_bind() -> None:
    async with extending() as extended:
        extended.node("a", gpus=4, unhealthy="1")
        extended.pod("first", number=2)
        body = b'{"PodName":"first","PodNamespace":"team","PodUID":"uid-first","Node":"a"}'
        assert await extended.post(BIND, body) == (200, {"Error": ""})
        (binding,) = extended.server.asked
        annotations = binding["metadata"].pop("annotations")
        assert binding == {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "first", "namespace": "team", "uid": "uid-first"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "a"},
        }
        assert annotations.pop("volcano.sh/gpu-index") == "0,2"
        assert len(annotations.pop("volcano.sh/predicate-time")) == 19, "nanoseconds"
        assert annotations == {}


@pytest.mark.parametrize(
    ("unhealthy", "memory", "code", "status"),
    [
        (None, 1, 0, ""),
        (None, CARD, 2, "node node-1: GPU 0 has 4095 of 4096 idle, GPU 1 has 4095 of 4096 idle"),
        ("0,1", 1, 3, "node node-1: GPU 0 is unfit, GPU 1 is unfit"),
    ],
)
async def test_volcano_predicate(
    unhealthy: str | None, memory: int, code: int, status: str
) -> None:
    async with extending() as extended:
        extended.node()
        for name in ("x", "y"):
            extended.pod(name, number=1)
            assert await extended.bind(name) == ""
        for name in ("x", "y"):
            extended.delete(name)
        for name, index in (("x", "0"), ("y", "1")):
            extended.pod(name, memory=1)
            binding = extended.server.bound[name]
            binding["metadata"]["annotations"]["volcano.sh/gpu-index"] = index
            extended.show(name)
        extended.node(unhealthy=unhealthy)
        answer = await extended.predicate(extended.pod("first", memory=memory))
        assert answer == {"status": status, "code": code}


async def test_volcano_prioritize() -> None:
    async with extending() as extended:
        extended.node("a")
        answer = await extended.volcano_prioritize(extended.pod("first", memory=1024), "a", "b")
        assert answer == {"nodeScore": {"a": 2.5, "b": 0.0}, "errorMessage": ""}
        plain = await extended.volcano_prioritize(extended.pod("plain"), "a")
        assert plain == {"nodeScore": {"a": 0.0}, "errorMessage": ""}
