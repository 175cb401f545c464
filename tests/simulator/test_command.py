"""`gpupods simulate` as a program: what it prints, how it ends, and with which code."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rich.console import Console

from gpupods.addresses import HostPort
from simulator.agents import common_port, free_or_any
from simulator.changes import set_runtime_fault
from simulator.cluster import SimulatedCluster, SimulationOptions
from simulator.demonstration import demonstrate
from simulator.guide import Guide
from simulator.kinds import RuntimeFault
from simulator.kubeconfig import KubeconfigFile
from simulator.questions import by_grpc, wrong_with
from simulator.scenario import Size
from tests.simulator.running import patiently

SMALL = ("--nodes", "2", "--gpus-per-node", "2", "--pods", "8")
ANYWHERE = ("--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0")


@asynccontextmanager
async def program(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gpupods.cli", "simulate", *arguments,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()  # it then removes what it has written
            await process.communicate()


def is_there(path: Path) -> bool:
    return path.exists()


async def whole_output(process: asyncio.subprocess.Process) -> tuple[str, str]:
    out, err = await process.communicate()
    return out.decode(), err.decode()


async def lines_until(process: asyncio.subprocess.Process, last: str) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or last not in lines[-1]:
        line = await process.stdout.readline()
        assert line, lines
        lines.append(line.decode().rstrip("\n"))
    return lines


async def test_once_asks_in_three_ways_prints_the_table_and_ends_with_0() -> None:
    async with program("--once", *SMALL, *ANYWHERE) as process:
        out, err = await whole_output(process)
    assert (process.returncode, err) == (0, "")
    assert out.count("; as simulated") == 3
    assert 'grpcurl -plaintext -d \'{"worker_id": "team-nlp/llama-finetune-0-' in out
    assert "curl 'http://127.0.0.1:" in out
    assert "Job/llama-finetune" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_stays_until_a_signal_and_ends_without_a_word(number: signal.Signals) -> None:
    async with program(*SMALL, *ANYWHERE) as process:
        lines = await lines_until(process, "Ctrl-C ends it.")
        kubectl = next(line for line in lines if "--kubeconfig" in line)
        kubeconfig = Path(kubectl.split("--kubeconfig ")[1].split()[0])
        assert is_there(kubeconfig)
        process.send_signal(number)
        out, err = await whole_output(process)
    assert (process.returncode, out, err) == (0, "", "")
    assert not is_there(kubeconfig.parent)


async def test_a_signal_while_it_starts_ends_it_in_good_order_too(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    async with program("--demo", *SMALL, *ANYWHERE, "--kubeconfig", str(kubeconfig)) as process:
        async for _ in patiently():
            if is_there(kubeconfig):
                break
        process.send_signal(signal.SIGINT)
        _, err = await whole_output(process)
    assert (process.returncode, err.strip()) == (130, "")
    assert not is_there(kubeconfig)


async def test_what_it_prints_can_be_pasted() -> None:
    async with program(*SMALL, *ANYWHERE) as process:
        lines = await lines_until(process, "Ctrl-C ends it.")
        curl = next(line for line in lines if line.startswith("  curl "))
        shell = await asyncio.create_subprocess_shell(
            curl.replace("curl ", "curl -s --noproxy '*' "), stdout=asyncio.subprocess.PIPE
        )
        out, _ = await shell.communicate()
        assert b'"GpuPods"' in out


async def test_a_taken_usual_port_is_left_and_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert free_or_any(HostPort("127.0.0.1", port)) == HostPort("127.0.0.1", 0)
        assert common_port(["127.0.0.1", "127.64.0.1"], port) != port
    assert free_or_any(HostPort("127.0.0.1", port)).port == port


async def test_a_taken_port_that_was_asked_for_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        async with program("--once", *SMALL, "--grpc-listen", address) as process:
            out, err = await whole_output(process)
    assert process.returncode == 1
    assert address in err
    assert "Traceback" not in out + err


async def test_somebody_elses_kubeconfig_is_not_overwritten(tmp_path: Path) -> None:
    theirs = tmp_path / "config"
    theirs.write_text("apiVersion: v1\n")
    arguments = ("--once", *SMALL, *ANYWHERE, "--kubeconfig", str(theirs))
    async with program(*arguments) as process:
        _, err = await whole_output(process)
    assert process.returncode == 1
    assert str(theirs) in err
    assert theirs.read_text() == "apiVersion: v1\n"


async def test_a_folder_that_is_not_there_is_told_before_anything_is_started(
    tmp_path: Path,
) -> None:
    there = tmp_path / "nowhere" / "config"
    async with program("--once", *SMALL, *ANYWHERE, "--kubeconfig", str(there)) as process:
        printed, problem = await whole_output(process)
    assert (process.returncode, printed) == (1, "")
    assert problem == (
        f"Error: the kubeconfig {there} cannot be written: there is no folder {there.parent}. "
        "Make it, or name another file\n"
    )


def test_our_own_kubeconfig_is_and_is_readable_for_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "config"
    for _ in range(2):  # the first is as if it was left by a simulator that was killed
        file = KubeconfigFile(path)
        file.write("http://127.0.0.1:1")
        assert path.stat().st_mode & 0o077 == 0
    file.remove()
    assert not path.exists()


def test_the_kubeconfig_of_a_later_simulator_outlives_the_first(tmp_path: Path) -> None:
    path = tmp_path / "config"
    first, later = KubeconfigFile(path), KubeconfigFile(path)
    first.write("http://127.0.0.1:1")
    later.write("http://127.0.0.1:2")
    first.remove()
    assert "127.0.0.1:2" in path.read_text()
    later.remove()
    assert not path.exists()


async def test_answers_that_differ_from_the_truth_are_wrong_in_every_way() -> None:
    size = Size(nodes=2, gpus_per_node=2, pods=8)
    async with SimulatedCluster(SimulationOptions(size=size)) as cluster:
        console = Console(record=True, width=200)
        guide = Guide(console, cluster)
        pod = guide.first_pod()
        assert pod is not None
        cluster.truth.refs[pod].owner = None  # and nobody is told
        assert not await demonstrate(console, cluster, guide)
        printed = console.export_text()
        assert printed.count("; WRONG in ") == 3
        assert "Job/llama-finetune" in printed


async def test_answers_that_miss_something_are_wrong_too() -> None:
    size = Size(nodes=2, gpus_per_node=2, pods=8)
    async with SimulatedCluster(SimulationOptions(size=size)) as cluster:
        console = Console(record=True, width=200)
        for node in cluster.truth.nodes.values():
            set_runtime_fault(node, RuntimeFault.DOWN)
        assert not await demonstrate(console, cluster, Guide(console, cluster))
        assert "connection refused" in console.export_text()


@pytest.mark.parametrize(
    "size", [Size(0, 1, 4), Size(1, 1, 4, cpu_nodes=0), Size(1, 1, 40), Size(3, 64, 40)]
)
async def test_the_smallest_and_the_fullest_clusters_are_right_too(size: Size) -> None:
    async with SimulatedCluster(SimulationOptions(size=size)) as cluster:
        pod = Guide(Console(quiet=True), cluster).first_pod()
        assert pod is not None
        answer = await by_grpc(cluster, pod)
        assert wrong_with(cluster, pod, answer.response) == []


async def test_with_nothing_to_ask_about_it_says_so() -> None:
    size = Size(nodes=0, pods=0, cpu_nodes=0)
    async with SimulatedCluster(SimulationOptions(size=size)) as cluster:
        console = Console(record=True, width=200)
        guide = Guide(console, cluster)
        assert await demonstrate(console, cluster, guide)
        guide.show()
        assert "nothing to ask about" in console.export_text()
