"""A GPU turns unfit in a simulated cluster: its Node says so, by the agent's own reporting."""

from __future__ import annotations

from pathlib import Path

from gpupods.node_annotations import HEALTH, UNHEALTHY_IDS, parse_health
from simulator.changes import recover, report_xid
from simulator.cluster import SimulatedCluster, SimulationOptions
from simulator.model import SimNode
from simulator.scenario import Size
from tests.simulator.running import Running, patiently, running

CONDITION = "GpuUnfit"


async def until_marked(node: SimNode, ids: str | None) -> None:
    async for _ in patiently():
        if node.annotations.get(UNHEALTHY_IDS) == ids:
            return
    raise AssertionError(f"{node.name} has {node.annotations}, not {ids}")


async def until_told(run: Running, name: str) -> str:
    """The first event about an object of this name."""
    async for _ in patiently():
        for stored in run.cluster.apiserver.store.snapshot("events").items:
            if stored.object["involvedObject"]["name"] == name:
                return str(stored.object["message"])
    raise AssertionError(f"no event about {name}")


async def test_annotations_condition_and_events() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        node = pod.node
        assert node is not None
        report_xid(run.truth, node, 1, 79)
        await until_marked(node, "1")
        (unfit,), problem = parse_health(node.annotations[HEALTH])
        assert (unfit.index, unfit.uuid, unfit.xid, problem) == (1, node.gpus[1].uuid, 79, "")
        assert node.conditions[CONDITION]["status"] == "True"
        assert "XID 79" in await until_told(run, node.name)
        assert "XID 79" in await until_told(run, pod.name)


async def test_all_gpus_of_a_node_at_once_are_one_patch() -> None:
    async with running() as run:
        node = run.node("gpu-a100")
        for gpu in node.gpus:
            report_xid(run.truth, node, gpu.index, 79)
        await until_marked(node, "0,1,2,3")
        patches = [line for line in run.cluster.apiserver.requests if line.startswith("PATCH")]
        assert patches == [f"PATCH /api/v1/nodes/{node.name}/status"]


async def test_nothing_is_written_while_nothing_happens() -> None:
    async with running() as run:
        agents = [each for each in run.cluster.agents.by_node.values() if each.node.gpus]
        async for _ in patiently():
            if all(each.health.judged for each in agents):
                break
        assert all(each.health.judged for each in agents)
        writes = [line for line in run.cluster.apiserver.requests if not line.startswith("GET")]
        assert writes == []


async def test_it_is_taken_back_when_the_dwell_is_over(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("[recovery]\ndwell_s = 0.2\n")
    options = SimulationOptions(
        size=Size(nodes=1, gpus_per_node=2, pods=4), health_policy=policy, health_interval_s=0.05
    )
    async with SimulatedCluster(options) as cluster:
        node = next(iter(cluster.truth.nodes.values()))
        report_xid(cluster.truth, node, 1, 79)
        await until_marked(node, "1")
        recover(cluster.truth, node, 1)
        await until_marked(node, None)
        assert HEALTH not in node.annotations
        assert node.conditions[CONDITION]["status"] == "False"


async def test_the_api_server_is_away_meanwhile() -> None:
    async with running() as run:
        node = run.node("gpu-h100")
        await run.cluster.apiserver.go_away()
        report_xid(run.truth, node, 2, 79)
        health = run.cluster.agents.by_node[node.name].health
        async for _ in patiently():
            if not all(verdict.fit for verdict in health.verdicts):
                break
        assert node.annotations == {}
        await run.cluster.apiserver.come_back()
        await until_marked(node, "2")
