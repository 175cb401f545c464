"""An operator's word on a simulated GPU, by the commands and the kubeconfig of the simulation."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from gpupods.node_annotations import HEALTH, UNHEALTHY_IDS, parse_health
from simulator.changes import report_xid
from tests.simulator.running import Running, patiently, running


async def gpu(run: Running, *arguments: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gpupods.cli", "gpu", *arguments,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"KUBECONFIG": str(run.cluster.kubeconfig)},
    )  # fmt: skip
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_a_gpu_is_excluded_and_restored() -> None:
    async with running() as run:
        node = run.node("gpu-h100")
        code, out, err = await gpu(run, "exclude", node.name, "2", "--reason", "too hot")
        assert (code, err) == (0, "")
        assert f"GPU 2 of node {node.name} is excluded" in out
        assert node.annotations[UNHEALTHY_IDS] == "2"
        (unfit,), _ = parse_health(node.annotations[HEALTH])
        assert (unfit.who, unfit.reason) == ("simulated", "excluded by simulated: too hot")
        code, _, err = await gpu(run, "restore", node.name, "2", "--reason", "fan replaced")
        assert (code, err) == (0, "")
        async for _ in patiently():
            if UNHEALTHY_IDS not in node.annotations:
                break
        assert UNHEALTHY_IDS not in node.annotations


async def test_unfit_gpus_are_listed_by_port_forward() -> None:
    async with running() as run:
        node = run.node("gpu-rtx")
        report_xid(run.truth, node, 3, 79)
        async for _ in patiently():
            if UNHEALTHY_IDS in node.annotations:
                break
        code, out, err = await gpu(run, "list", "--unfit", "-o", "json")
        assert (code, err) == (0, "")
        (listed,) = json.loads(out)["gpus"]
        assert (listed["nodeName"], listed["info"]["index"]) == (node.name, 3)
        assert listed["info"]["health"] == "GPU_HEALTH_UNFIT"
        assert listed["announced"] is True


async def test_a_node_that_is_not_there_is_told() -> None:
    async with running() as run:
        code, out, err = await gpu(run, "exclude", "gpu-x", "2", "--reason", "too hot")
        assert (code, out) == (1, "")
        assert "gpu-x" in err
