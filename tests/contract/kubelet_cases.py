"""What a kubelet and the agent's device plugin do together, as cases for any kubelet.

`test_kubelet.py` has them with the simulator's twin, `tests/cluster/test_device_plugin.py` with a
real one. A node has two GPUs that are shared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER
from nodeagent.deviceplugin.pods import GPU_ASSIGNED
from tests.pluginbed import Wanted, owning, sharing

Environments = dict[str, dict[str, str]]
"""Container -> environment."""


class SharingNode(Protocol):
    """A node with an agent that offers shared GPUs, and what a test does to it."""

    unit_mib: int
    memory_mib: list[int]
    """Of each GPU."""

    def uuid(self, index: int) -> str: ...

    async def capacity(self) -> dict[str, int]: ...

    async def allocatable(self) -> dict[str, int]: ...

    async def run(self, *pods: Wanted) -> list[Environments]:
        """Have the pods come at once, chosen by a scheduler as they say, and wait till they run."""

    async def refusal(self, pod: Wanted) -> str:
        """What a pod is told that is not let in."""

    async def annotations(self, pod: Wanted) -> dict[str, str]: ...

    async def lose(self, index: int) -> None:
        """A GPU falls off the bus, and it is known."""


async def each_gpu_counts_with_its_own_memory(node: SharingNode) -> None:
    units = sum(mib // node.unit_mib for mib in node.memory_mib)
    expected = {GPU_MEMORY: units, GPU_NUMBER: len(node.memory_mib)}
    assert await node.capacity() == expected
    assert await node.allocatable() == expected


async def a_pod_gets_the_gpu_that_was_chosen(node: SharingNode) -> None:
    pod = sharing("one", 7, "1")
    (given,) = await node.run(pod)
    assert given["main"] == {
        "NVIDIA_VISIBLE_DEVICES": node.uuid(1),
        "VOLCANO_GPU_ALLOCATED": str(7 * node.unit_mib),
        "VOLCANO_GPU_MEMORY_TOTAL": str(node.memory_mib[1]),
    }
    assert (await node.annotations(pod))[GPU_ASSIGNED] == "true"


async def each_container_gets_what_it_asks_for(node: SharingNode) -> None:
    limits = {"one": {GPU_MEMORY: 3}, "none": {}, "two": {GPU_MEMORY: 5}}
    pod = Wanted("several", limits, "1")
    (given,) = await node.run(pod)
    assert given["none"] == {}
    for container, units in (("one", 3), ("two", 5)):
        assert given[container]["NVIDIA_VISIBLE_DEVICES"] == node.uuid(1)
        assert given[container]["VOLCANO_GPU_ALLOCATED"] == str(units * node.unit_mib)
    assert (await node.annotations(pod))[GPU_ASSIGNED] == "true"


async def whole_gpus_can_be_had_beside_shared_ones(node: SharingNode) -> None:
    shared, whole = sharing("shared", 3, "0"), owning("whole", 1, "1", 2)
    first, second = await node.run(shared, whole)
    assert first["main"]["NVIDIA_VISIBLE_DEVICES"] == node.uuid(0)
    assert second["main"]["NVIDIA_VISIBLE_DEVICES"] == node.uuid(1)
    assert second["main"]["VOLCANO_GPU_ALLOCATED"] == "1"


async def pods_that_come_at_once_have_what_their_annotations_say(node: SharingNode) -> None:
    # Whatever order the kubelet goes by, schedulers may have dated them the other way round.
    pods = [sharing(f"at-once-{n}", 4, str(n % 2), time_ns=100 - n) for n in range(6)]
    given = [each["main"]["NVIDIA_VISIBLE_DEVICES"] for each in await node.run(*pods)]
    said = [await node.annotations(pod) for pod in pods]
    assert given == [node.uuid(int(each[GPU_INDEX])) for each in said]
    assert sorted(given) == sorted([node.uuid(0), node.uuid(1)] * 3)
    assert all(each[GPU_ASSIGNED] == "true" for each in said)


async def a_pod_that_no_scheduler_has_given_a_gpu_is_told_so(node: SharingNode) -> None:
    said = await node.refusal(sharing("unscheduled", 3, None, None))
    assert "unscheduled: it has no annotation volcano.sh/gpu-index" in said


async def an_index_beyond_the_node_s_gpus_is_refused(node: SharingNode) -> None:
    said = await node.refusal(sharing("beyond", 3, "7"))
    assert "is to have GPU 7, which this node has not; it has 0,1" in said


async def an_unfit_gpu_stays_allocatable_and_is_not_given(node: SharingNode) -> None:
    before = await node.allocatable()
    await node.lose(1)
    said = await node.refusal(sharing("unlucky", 3, "1"))
    assert "is to have GPU 1, which is unfit" in said
    assert await node.capacity() == await node.allocatable() == before


Case = Callable[[SharingNode], Awaitable[None]]

CASES: tuple[Case, ...] = (
    each_gpu_counts_with_its_own_memory,
    a_pod_gets_the_gpu_that_was_chosen,
    each_container_gets_what_it_asks_for,
    whole_gpus_can_be_had_beside_shared_ones,
    pods_that_come_at_once_have_what_their_annotations_say,
    a_pod_that_no_scheduler_has_given_a_gpu_is_told_so,
    an_index_beyond_the_node_s_gpus_is_refused,
    an_unfit_gpu_stays_allocatable_and_is_not_given,
)


def name_of(case: Case) -> str:
    """For the test's id."""
    return getattr(case, "__name__", str(case))
