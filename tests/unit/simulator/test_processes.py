from __future__ import annotations

import pytest

from gpupods.identity import Pid
from simulator.changes import (
    kill_process,
    reuse_pid,
    start_host_process,
    start_other_container,
)
from simulator.kinds import CgroupShape, ContainerKind
from simulator.plans import ProcessPlan
from simulator.processes import SimulatedProcessTable
from tests.unit.simulator.small import Small, small


def cgroup(world: Small) -> str:
    pid = world.pod.containers[0].processes[0].pid
    facts = SimulatedProcessTable(world.node).read(pid)
    assert facts is not None
    assert facts.cgroup is not None
    return facts.cgroup


def test_cgroupfs_has_the_pod_uid_and_the_id_as_they_are() -> None:
    world = small(CgroupShape.CGROUPFS_V2)
    pod, container = world.pod.uid, world.pod.containers[0].id
    assert cgroup(world) == f"0::/kubepods/burstable/pod{pod}/{container}\n"


def test_systemd_has_the_pod_uid_with_underscores() -> None:
    world = small(CgroupShape.SYSTEMD_V2)
    uid, container = world.pod.uid.replace("-", "_"), world.pod.containers[0].id
    assert cgroup(world) == (
        "0::/kubepods.slice/kubepods-burstable.slice/"
        f"kubepods-burstable-pod{uid}.slice/cri-containerd-{container}.scope\n"
    )


def test_drivers_that_disagree_have_colons_in_the_last_part() -> None:
    world = small(CgroupShape.DISAGREEING_V2)
    path = cgroup(world).strip().removeprefix("0::")
    assert path.startswith("/system.slice/containerd.service/kubepods-burstable-pod")
    assert path.endswith(f".slice:cri-containerd:{world.pod.containers[0].id}")


def test_v1_has_a_line_for_each_controller_and_hybrid_one_more() -> None:
    v1 = cgroup(small(CgroupShape.CGROUPFS_V1)).splitlines()
    hybrid = cgroup(small(CgroupShape.CGROUPFS_HYBRID)).splitlines()
    assert len(v1) == 12
    assert hybrid == [*v1, "0::/system.slice/containerd.service"]


@pytest.mark.parametrize("shape", list(CgroupShape))
def test_another_runtimes_container_is_no_pods(shape: CgroupShape) -> None:
    world = small(shape)
    container = start_other_container(
        world.cluster, world.node, ContainerKind.FOREIGN, "blender", [ProcessPlan("blender")]
    )
    facts = SimulatedProcessTable(world.node).read(container.processes[0].pid)
    assert facts is not None
    assert facts.cgroup is not None
    assert container.id in facts.cgroup
    assert "kubepods" not in facts.cgroup


def test_start_times_are_of_the_nodes_boot_clock() -> None:
    world = small()
    process = world.pod.containers[0].processes[0]
    facts = SimulatedProcessTable(world.node).read(process.pid)
    assert facts is not None
    assert facts.start_boot_s == pytest.approx(process.started - world.node.booted, abs=0.01)


def test_gone_and_exited_processes_are_not_there() -> None:
    world = small()
    table = SimulatedProcessTable(world.node)
    first, second, _ = (process.pid for process in world.pod.containers[0].processes)
    kill_process(world.node, first)
    kill_process(world.node, second, driver_forgets=False)
    assert table.read(first) is None
    assert table.read(second) is None
    assert table.read(Pid(999_999)) is None


def test_a_reused_pid_is_another_process() -> None:
    world = small()
    pid = world.pod.containers[0].processes[0].pid
    reuse_pid(world.cluster, world.node, pid, "sshd", "/system.slice/ssh.service")
    facts = SimulatedProcessTable(world.node).read(pid)
    assert facts is not None
    assert (facts.name, facts.cgroup) == ("sshd", "0::/system.slice/ssh.service\n")


def test_a_long_name_is_cut_as_the_kernel_cuts_it() -> None:
    world = small()
    process = start_host_process(
        world.cluster,
        world.node,
        ProcessPlan("nvidia-cuda-mps-server"),
        "/system.slice/mps.service",
    )
    facts = SimulatedProcessTable(world.node).read(process.pid)
    assert facts is not None
    assert facts.name == "nvidia-cuda-mps"
