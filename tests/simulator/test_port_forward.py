"""`gpupods get` without --server, through the simulated cluster's kubeconfig alone."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from simulator.changes import delete_pod
from simulator.controller_pod import NAMESPACE
from tests.simulator.running import Running, running


async def get(run: Running, *arguments: str) -> tuple[int | None, str, str]:
    environment = {key: value for key, value in os.environ.items() if key != "GPUPODS_SERVER"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gpupods.cli", "get", *arguments,
        env=environment | {"KUBECONFIG": str(run.cluster.kubeconfig)},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_the_controller_is_found_and_reached() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        code, out, err = await get(run, str(pod.ref), "-o", "json")
        assert (code, err) == (0, "")
        assert set(json.loads(out)["GpuInfos"]) == {gpu.uuid for gpu in run.node("gpu-a100").gpus}


async def test_without_a_controllers_pod_it_says_so() -> None:
    async with running() as run:
        delete_pod(run.truth, run.pod("gpupods-controller"))
        code, out, err = await get(run, "x")
        assert (code, out) == (1, "")
        assert NAMESPACE in err


async def test_a_port_on_which_nothing_listens_is_told() -> None:
    async with running() as run:
        code, _, err = await get(run, "x", "--controller-port", "9", "--timeout", "3s")
        assert code == 4
        assert "port 9" in err
