"""Odd annotations: what can be read of them counts, the rest is told once, others do not suffer."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from gpupods.accounting.names import GPU_INDEX
from tests.failures.extending import CARD, Extended, extending


def bound(extended: Extended, name: str, index: str | None) -> None:
    """A pod of another scheduler's."""
    annotations = {} if index is None else {GPU_INDEX: index}
    extended.pod(name, memory=CARD)
    extended.server.bound[name] = {
        "metadata": {"annotations": annotations},
        "target": {"name": "node-1"},
    }
    extended.show(name)


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (None, "has no volcano.sh/gpu-index"),
        ("", "volcano.sh/gpu-index is ''"),
        ("0 ", "volcano.sh/gpu-index is '0 '"),
        ("GPU-0", "volcano.sh/gpu-index is 'GPU-0'"),
        ("2", "has GPU 2, and the node has 2"),
    ],
)
async def test_of_a_pod(index: str | None, said: str) -> None:
    async with extending() as extended:
        extended.node()
        extended.node("node-2")
        bound(extended, "odd", index)
        pod = extended.pod("first", memory=CARD)
        with capture_logs() as logs:
            for _ in range(2):
                answer = await extended.filter(pod, "node-1", "node-2")
        assert answer["NodeNames"] == ["node-1", "node-2"]
        (told,) = logs
        assert said in told["problem"]
        assert told["node"] == "node-1"


@pytest.mark.parametrize("unhealthy", ["0, x", "x,0", "0,", " 0", "0,4096"])
async def test_of_a_node(unhealthy: str) -> None:
    async with extending() as extended:
        extended.node(unhealthy=unhealthy)
        for name in ("first", "second"):
            extended.pod(name, memory=CARD)
        assert await extended.bind("first") == ""
        assert extended.given("first") == "1"
        assert "GPU 0 is unfit" in await extended.bind("second")


@pytest.mark.parametrize("health", ["", "{}", "not JSON", '[{"index": 0}]'])
async def test_the_reasons_of_a_node(health: str) -> None:
    async with extending() as extended:
        extended.node(gpus=1, unhealthy="0", health=health)
        answer = await extended.filter(extended.pod("first", memory=1))
        assert answer["FailedAndUnresolvableNodes"] == {"node-1": "node node-1: GPU 0 is unfit"}
