"""Every way to find a process's container finds the same one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from gpupods.identity import ContainerId, Pid
from nodeagent.containers.identify import IdentifyMode, ProcessIdentifier
from nodeagent.containers.identity import Identification, Unattributed
from simulator.kinds import CgroupShape
from tests.contract.container_nodes import NESTED, ContainerNode
from tests.contract.real_containers import real_node
from tests.contract.simulated_containers import SimulatedNode
from tests.realparts import cgroups
from tests.realparts.containerd import Containerd

AMPLE_S = 30.0
REAL_SHAPES = [
    cgroups.BURSTABLE,
    cgroups.BEST_EFFORT,
    cgroups.GUARANTEED,
    cgroups.SYSTEMD_BURSTABLE,
    cgroups.SYSTEMD_GUARANTEED,
    cgroups.DRIVERS_DISAGREE,
    cgroups.CRIO,
]


async def identified(
    node: ContainerNode, mode: IdentifyMode, pids: Iterable[Pid]
) -> Identification:
    identifier = ProcessIdentifier(node.table, node.runtime, mode)
    return await identifier.identify(pids, node.now(), AMPLE_S)


def owners(identification: Identification) -> dict[Pid, ContainerId | None]:
    return {pid: each.container for pid, each in identification.processes.items()}


async def assert_agree(node: ContainerNode, shape: str = "") -> None:
    expected: dict[Pid, ContainerId | None] = {}
    for _ in range(3):
        for made in node.run(shape=shape):
            expected |= dict.fromkeys(made.pids, made.id)
    assert len(expected) == 3 * (NESTED + 1)
    for mode in IdentifyMode:
        identification = await identified(node, mode, expected)
        assert owners(identification) == expected, mode
        assert identification.missing == ()
        assert set(expected.values()) <= set(identification.containers)


async def test_on_every_process_nested_ones_and_sandboxes_too(
    container_node: ContainerNode,
) -> None:
    await assert_agree(container_node)


@pytest.mark.parametrize("shape", list(CgroupShape))
async def test_in_every_simulated_shape(shape: CgroupShape) -> None:
    await assert_agree(SimulatedNode(shape))


@pytest.mark.e2e
@pytest.mark.parametrize("shape", REAL_SHAPES)
async def test_in_every_shape_that_real_containers_can_be_in(
    containerd: Containerd, shape: str
) -> None:
    async with real_node(containerd) as node:
        await assert_agree(node, shape)


@pytest.mark.parametrize("mode", list(IdentifyMode))
async def test_that_a_foreign_container_is_another_runtimes(
    container_node: ContainerNode, mode: IdentifyMode
) -> None:
    foreign = container_node.run_foreign()
    identification = await identified(container_node, mode, foreign.pids)
    assert {each.reason for each in identification.processes.values()} == {
        Unattributed.OTHER_RUNTIME
    }
    for each in identification.processes.values():
        assert foreign.id in each.detail
    assert identification.missing == ()


@pytest.mark.parametrize("mode", [IdentifyMode.AUTO, IdentifyMode.RUNTIME])
async def test_that_a_host_process_is_in_no_container(
    container_node: ContainerNode, mode: IdentifyMode
) -> None:
    pid = container_node.host_process()
    identification = await identified(container_node, mode, [pid])
    process = identification.processes[pid]
    assert (process.container, process.reason) == (None, Unattributed.HOST_PROCESS)
    assert process.detail.startswith("cgroup /")
    assert process.name == "sleep"
    assert identification.missing == ()


@pytest.mark.parametrize("mode", list(IdentifyMode))
async def test_that_an_ended_process_has_exited(
    container_node: ContainerNode, mode: IdentifyMode
) -> None:
    _, container = container_node.run()
    container_node.end(container)
    identification = await identified(container_node, mode, container.pids[1:])
    reasons = {each.reason for each in identification.processes.values()}
    assert reasons == {Unattributed.PROCESS_EXITED}


async def test_that_a_container_made_after_a_question_is_found_by_the_next(
    container_node: ContainerNode,
) -> None:
    identifier = ProcessIdentifier(container_node.table, container_node.runtime)
    for _ in range(3):
        _, container = container_node.run()
        found = await identifier.identify(container.pids, container_node.now(), AMPLE_S)
        assert owners(found) == dict.fromkeys(container.pids, container.id)
        assert found.containers[container.id].pod == container.pod.name


@pytest.mark.e2e
async def test_in_a_cgroup_that_the_container_made_itself(containerd: Containerd) -> None:
    """As systemd or a container runtime inside of a container does."""
    async with real_node(containerd) as node:
        _, container = node.run()
        for tree in cgroup_trees(container.id):
            inside = tree / "worker.service"
            inside.mkdir()
            (inside / "cgroup.procs").write_text(str(container.pids[-1]))
        facts = node.table.read(container.pids[-1])
        assert facts is not None
        assert "/worker.service" in (facts.cgroup or "")
        for mode in IdentifyMode:
            identification = await identified(node, mode, container.pids)
            assert owners(identification) == dict.fromkeys(container.pids, container.id)


def cgroup_trees(container: ContainerId) -> list[Path]:
    """The container's folders, but for cpuset's, where a new one may hold nothing yet."""
    found = Path("/sys/fs/cgroup").glob(f"*/kubepods/burstable/*/{container}")
    whole = Path("/sys/fs/cgroup").glob(f"kubepods/burstable/*/{container}")
    return [folder for folder in (*found, *whole) if "cpuset" not in folder.parts]
