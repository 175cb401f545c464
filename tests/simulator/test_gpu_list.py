"""All GPUs of a simulated cluster as they are, and what is told of a node whose agent is away."""

from __future__ import annotations

import asyncio
import json
import urllib.request

from gpupods import GpuHealth, GpuSource
from simulator.changes import report_xid, set_gpu_lost
from tests.simulator.running import patiently, running


async def test_every_gpu_and_the_pods_on_it() -> None:
    async with running() as run:
        await run.until_right(run.pod("llama-finetune-0"))
        answer = await run.client.list_gpus()
        assert answer.complete
        nodes = {node.name: node for node in run.truth.nodes.values() if node.gpus}
        assert {(gpu.node, gpu.info.index, gpu.info.uuid) for gpu in answer.gpus} == {
            (name, index, gpu.uuid)
            for name, node in nodes.items()
            for index, gpu in enumerate(node.gpus)
        }
        assert (answer.nodes, answer.gpus_known) == (len(nodes), len(answer.gpus))
        for listed in answer.gpus:
            of_pod = next(p for p in run.truth.pods.values() if p.node is nodes[listed.node])
            rows = (await run.ask(str(of_pod.ref))).GpuPods
            there = rows[listed.info.uuid].pidPods if listed.info.uuid in rows else ()
            assert {(row.namespace, row.pod) for row in there} == {
                (each.ref.namespace, each.ref.name) for each in listed.pods or ()
            }
            assert listed.source is GpuSource.NODE_AGENT
            assert listed.pods is not None


async def test_an_unfit_gpu_is_listed_with_whom_it_hurts() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        node = pod.node
        assert node is not None
        report_xid(run.truth, node, 1, 79)
        set_gpu_lost(node, 2)
        async for _ in patiently():
            answer = await run.client.list_gpus(only_unfit=True)
            if [gpu.announced for gpu in answer.gpus] == [True, True]:
                break
        first, lost = answer.gpus
        assert (first.node, first.info.index, first.info.health) == (node.name, 1, GpuHealth.UNFIT)
        assert pod.ref in [each.ref for each in first.pods or ()]
        assert first.info.health_detail is not None
        assert first.info.health_detail.xid == 79
        assert lost.pods is None, "it cannot tell"
        url = f"http://{run.cluster.http}/gpus?only_unfit=true&node_names={node.name}"
        document = json.loads(await in_a_thread(url))
        assert [gpu["info"]["index"] for gpu in document["gpus"]] == [1, 2]

        await run.cluster.agents.stop_one(node.name)
        answer = await run.client.list_gpus([node.name])
        assert [(gpu.info.index, gpu.source) for gpu in answer.gpus] == [
            (1, GpuSource.NODE_OBJECT),
            (2, GpuSource.NODE_OBJECT),
        ]
        (missing,) = answer.missing
        assert missing.node == node.name
        assert "names GPU 1, 2 as unfit" in missing.reason
        everywhere = await run.client.list_gpus()
        assert {gpu.node for gpu in everywhere.gpus} == {
            each.name for each in run.truth.nodes.values() if each.gpus
        }


async def in_a_thread(url: str) -> bytes:
    def read() -> bytes:
        with urllib.request.urlopen(url) as response:
            found: bytes = response.read()
        return found

    return await asyncio.to_thread(read)
