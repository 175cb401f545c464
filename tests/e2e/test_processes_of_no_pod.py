"""Processes that belong to no pod of the cluster: each is listed apart, with the reason."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.e2e.comparing import missing_parts
from tests.e2e.host_process import HostProcess
from tests.e2e.scene import Scene, ScenePod
from tests.e2e.world import World
from tests.fakedriver.faults import Fault
from tests.fakedriver.scenario import Process
from tests.realparts import cgroups
from tests.realparts.objects import PodIdentity
from tests.realparts.processes import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

NOBODY = PodIdentity("elsewhere", "nobody", "7f2c8b1e-6a4d-4c3b-9e8f-aabbccddeeff")


@pytest.fixture
def asked(scene: Scene) -> ScenePod:
    """A pod with a process on GPU 0, whose node is asked for."""
    pod = scene.pod("team-a", "neighbour")
    scene.put(0, pod.process())
    return pod


def reasons(answer: pb.GetGpuPodsResponse) -> list[tuple[int, str]]:
    return [
        (other.process.pid, pb.UnattributedReason.Name(other.reason))
        for others in answer.unattributed.values()
        for other in others.processes
    ]


def test_a_host_process(asked: ScenePod, scene: Scene, standing: World) -> None:
    host = scene.host_process()
    scene.put(0, host)
    scene.put(1, host, memory=None)
    answer = standing.wait_for_truth(asked.ref)
    assert reasons(answer) == [(host.pid, "UNATTRIBUTED_REASON_HOST_PROCESS")] * 2


@pytest.mark.parametrize("shape", [cgroups.DOCKER, cgroups.BURSTABLE], ids=["docker", "kubepods"])
def test_a_container_in_another_namespace_of_containerd(
    shape: str, asked: ScenePod, scene: Scene, standing: World
) -> None:
    foreign = scene.foreign_container(NOBODY, "shell", cgroup=shape, namespace="moby")
    scene.put_container(0, foreign, 2)
    answer = standing.wait_for_truth(asked.ref)
    assert reasons(answer) == [(foreign.pids[2], "UNATTRIBUTED_REASON_OTHER_RUNTIME")]


def test_a_container_that_the_cluster_has_no_pod_for(
    asked: ScenePod, scene: Scene, standing: World
) -> None:
    stray = scene.foreign_container(NOBODY, "shell", cgroup=cgroups.BEST_EFFORT, namespace="k8s.io")
    scene.put_container(1, stray)
    answer = standing.wait_for_truth(asked.ref)
    assert reasons(answer) == [(stray.pids[0], "UNATTRIBUTED_REASON_UNKNOWN_CONTAINER")]
    (other,) = answer.unattributed[standing.driver.scenario.gpus[1].uuid].processes
    assert (other.process.namespace, other.process.pod_uid) == ("elsewhere", NOBODY.uid)
    assert "elsewhere/nobody" in other.detail


def test_a_process_that_has_exited(asked: ScenePod, scene: Scene, standing: World) -> None:
    with HostProcess() as short:
        pid = short.pid
    gpu = standing.driver.scenario.gpus[2].uuid
    standing.driver.change(lambda now: now.with_gpu(gpu, processes=(Process(pid),)))
    answer = standing.wait_for(
        asked.ref, lambda got: gpu in got.unattributed, what="the process that has exited"
    )
    assert reasons(answer) == [(pid, "UNATTRIBUTED_REASON_PROCESS_EXITED")]
    assert missing_parts(answer) == []


def test_a_pid_that_another_process_has_by_now(
    asked: ScenePod, scene: Scene, standing: World
) -> None:
    """It changes hands while the driver is still at work on the sample that lists it."""
    assert reasons(standing.wait_for_truth(asked.ref)) == []
    gpu = standing.driver.scenario.gpus[2].uuid
    slow = Fault.hangs("nvmlDeviceGetMPSComputeRunningProcesses*", gpu=gpu)
    with HostProcess() as first, ThreadPoolExecutor() as asking:
        pid = first.pid
        standing.driver.change(
            lambda now: now.with_gpu(gpu, processes=(Process(pid),)).with_faults(slow)
        )
        answering = asking.submit(standing.by_client.ask, asked.ref)
        standing.driver.wait_until_hanging("nvmlDeviceGetMPSComputeRunningProcesses_v3")
        past_clock_ticks(3)
        first.end()
        with HostProcess(wanted_pid=pid):
            standing.driver.change(lambda now: now.with_faults())
            assert reasons(answering.result()) == [(pid, "UNATTRIBUTED_REASON_PID_REUSED")]
            fresh = standing.by_client.ask(asked.ref)
            assert reasons(fresh) == [(pid, "UNATTRIBUTED_REASON_HOST_PROCESS")]


def past_clock_ticks(ticks: int) -> None:
    """Start times are told in clock ticks: what is to be younger must start that much later."""
    later = time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
    wait_until(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) > later, what="a clock tick")
