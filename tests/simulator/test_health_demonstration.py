"""`gpupods simulate --once --health`: a GPU fails and comes back, and each step is checked."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from rich.console import Console

from simulator import rehearsal
from simulator.cluster import SimulatedCluster, SimulationOptions
from simulator.guide import Guide
from simulator.health_demonstration import demonstrate_health
from simulator.scenario import Size
from tests.simulator.test_command import ANYWHERE, SMALL, lines_until, program, whole_output

HASTE = Size(nodes=2, gpus_per_node=2, pods=8)


def options(folder: Path, size: Size = HASTE) -> SimulationOptions:
    policy = folder / "policy.toml"
    policy.write_text("[recovery]\ndwell_s = 0.2\n")
    return SimulationOptions(size=size, health_policy=policy, health_interval_s=0.05)


async def shown(cluster: SimulatedCluster) -> tuple[bool, str]:
    console = Console(record=True, width=200)
    right = await demonstrate_health(console, cluster, Guide(console, cluster))
    return right, console.export_text()


async def test_the_whole_loop_is_printed_and_ends_with_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    async with program("--demo", "--once", "--health", *SMALL, *ANYWHERE) as process:
        out, err = await whole_output(process)
    assert (process.returncode, err) == (0, "")
    assert "clean for 2 s here" in out
    assert "simulate inject --node gpu-a100-1 --gpu 0 --xid 79" in out
    assert "its Node has the annotation volcano.sh/gpu-unhealthy-ids: '0'" in out
    assert "another pod of the same kind: given GPU 1" in out
    assert "the annotation is gone" in out
    assert "a third pod of the same kind: given GPU 0" in out
    assert out.count("  ok    ") == 11
    assert "\x1b" not in out, "what is piped has no colours"
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - in a test


async def test_a_signal_in_the_middle_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    async with program("--once", "--health", *SMALL, *ANYWHERE) as process:
        await lines_until(process, "It fails")
        process.send_signal(signal.SIGINT)
        _, err = await whole_output(process)
    assert (process.returncode, err) == (130, "")
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - in a test


async def test_on_one_gpu_the_second_pod_is_refused_with_the_reason(tmp_path: Path) -> None:
    wanted = options(tmp_path, Size(nodes=1, gpus_per_node=1, pods=2))
    async with SimulatedCluster(wanted) as cluster:
        right, printed = await shown(cluster)
        assert right, printed
        assert "given none: node gpu-a100-1: GPU 0 is unfit (XID 79" in printed
        assert not any(pod.name.startswith("rehearsal") for pod in cluster.truth.pods.values())


async def test_an_agent_that_may_not_report_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "LIMIT_S", 0.5)
    async with SimulatedCluster(options(tmp_path)) as cluster:
        cluster.apiserver.faults.denied.add(("patch", "nodes/status"))
        right, printed = await shown(cluster)
        assert not right
        assert "WRONG after 0.5 s the Node gpu-a100-1 still does not name GPU 0" in printed


async def test_events_that_are_not_written_are_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "LIMIT_S", 1.0)
    async with SimulatedCluster(options(tmp_path)) as cluster:
        cluster.apiserver.faults.denied.add(("create", "events"))
        right, printed = await shown(cluster)
        assert not right
        assert printed.count("WRONG") == 1
        assert "WRONG events on the Node" in printed


async def test_with_no_gpu_to_fail_it_says_so(tmp_path: Path) -> None:
    async with SimulatedCluster(options(tmp_path, Size(nodes=0, pods=0))) as cluster:
        right, printed = await shown(cluster)
        assert right
        assert "none to fail" in printed


async def test_a_policy_that_is_wrong_is_told_before_anything_is_started(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("[recovery]\ndwell_s = -1\n")
    async with program("--once", "--health", "--health-policy", str(policy), *SMALL) as process:
        out, err = await whole_output(process)
    assert (process.returncode, out) == (1, "")
    assert f"Error: {policy}, line 2: dwell_s is a number above 0" in err


async def test_an_api_server_that_goes_away_is_told_as_a_step_that_went_wrong(
    tmp_path: Path,
) -> None:
    async with SimulatedCluster(options(tmp_path)) as cluster:
        await cluster.apiserver.go_away()
        right, text = await shown(cluster)
        await cluster.apiserver.come_back()
    assert not right
    assert "WRONG POST http://" in text
