"""A device plugin and a kubelet: here the simulator's twin, in tests/cluster a real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER
from simulator.kubelet_plugins import PodRefusedError
from tests.contract.kubelet_cases import CASES, Case, Environments, name_of
from tests.pluginbed import (
    MEMORY_MIB,
    NUMBER,
    SHARE,
    UNIT_MIB,
    Bed,
    Wanted,
    bed,
    owning,
    sharing,
    until,
)

pytestmark = pytest.mark.timeout(60)

ALL = {GPU_MEMORY: sum(mib // UNIT_MIB for mib in MEMORY_MIB), GPU_NUMBER: len(MEMORY_MIB)}


class SimulatedNode:
    """The simulator's kubelet."""

    def __init__(self, made: Bed) -> None:
        self._bed = made
        self.unit_mib = UNIT_MIB
        self.memory_mib = list(MEMORY_MIB)

    def uuid(self, index: int) -> str:
        return self._bed.uuid(index)

    async def capacity(self) -> dict[str, int]:
        return self._bed.kubelet.capacity

    async def allocatable(self) -> dict[str, int]:
        return self._bed.kubelet.allocatable

    async def run(self, *pods: Wanted) -> list[Environments]:
        self._bed.bind(*pods)
        kubelet = self._bed.kubelet
        given = [await kubelet.admit(pod.ref, pod.containers) for pod in pods]
        await asyncio.gather(
            *(kubelet.start_containers(pod.ref, pod.containers) for pod in reversed(pods))
        )
        return given

    async def refusal(self, pod: Wanted) -> str:
        self._bed.bind(pod)
        with pytest.raises(PodRefusedError) as refused:
            await self._bed.run(pod)
        return str(refused.value)

    async def annotations(self, pod: Wanted) -> dict[str, str]:
        return self._bed.annotations(pod)

    async def lose(self, index: int) -> None:
        self._bed.node.gpus[index].lost = True
        self._bed.node.disturb()
        await until(lambda: not self._bed.monitor.verdicts[index].fit)


@pytest.fixture
async def share() -> AsyncIterator[Bed]:
    async with bed(SHARE) as made:
        yield made


@pytest.fixture
async def number() -> AsyncIterator[Bed]:
    async with bed(NUMBER) as made:
        yield made


@pytest.mark.parametrize("case", CASES, ids=name_of)
async def test_on_a_simulated_kubelet(case: Case, share: Bed) -> None:
    await case(SimulatedNode(share))


async def test_where_whole_gpus_are_given_memory_is_capacity_alone(number: Bed) -> None:
    assert number.kubelet.capacity == ALL
    assert number.kubelet.allocatable == {GPU_MEMORY: 0, GPU_NUMBER: len(MEMORY_MIB)}


async def test_the_devices_that_the_kubelet_notes_are_the_chosen_gpus(share: Bed) -> None:
    pod = sharing("one", 5, "0")
    share.bind(pod)
    await share.run(pod)
    held = share.kubelet.devices_of(pod.ref, "main", GPU_MEMORY)
    assert {each.partition("-")[0] for each in held} == {"0"}


async def test_whole_gpus_are_given_by_uuid(number: Bed) -> None:
    pod = owning("one", 2, "0,1")
    number.bind(pod)
    given = await number.run(pod)
    assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == f"{number.uuid(0)},{number.uuid(1)}"
    assert given["main"]["VOLCANO_GPU_ALLOCATED"] == "2"
    held = set(number.kubelet.devices_of(pod.ref, "main", GPU_NUMBER))
    assert held == {number.uuid(0), number.uuid(1)}


async def test_where_gpus_are_shared_nothing_is_sent_when_one_is_unfit(share: Bed) -> None:
    before = share.kubelet.lists_of(GPU_MEMORY)
    await SimulatedNode(share).lose(1)
    pod = sharing("one", 5, "0")
    share.bind(pod)
    await share.run(pod)
    assert share.kubelet.lists_of(GPU_MEMORY) == before


async def test_an_unfit_whole_gpu_is_capacity_and_not_allocatable(number: Bed) -> None:
    await SimulatedNode(number).lose(1)
    await until(lambda: number.kubelet.allocatable[GPU_NUMBER] == 1)
    assert number.kubelet.capacity == ALL


async def test_a_pod_that_asks_for_what_no_pod_is_to_have_is_refused(share: Bed) -> None:
    share.bind(sharing("one", 5, "0"))
    with pytest.raises(PodRefusedError, match=r"asks for 6 .*there are team/one for 5"):
        await share.run(sharing("other", 6, "0"))


async def test_a_pod_that_takes_another_s_claim_exchanges_with_it(share: Bed) -> None:
    first, second = sharing("first", 5, "0", 1), sharing("second", 5, "1", 2)
    share.bind(first, second)
    given_second = await share.kubelet.admit(second.ref, second.containers)
    given_first = await share.kubelet.admit(first.ref, first.containers)
    await share.kubelet.start_containers(second.ref, second.containers)
    await share.kubelet.start_containers(first.ref, first.containers)
    for pod, given in ((first, given_first), (second, given_second)):
        index = share.annotations(pod)[GPU_INDEX]
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == share.uuid(int(index))
        assert share.is_assigned(pod)
    assert given_first != given_second


async def test_containers_of_every_kind_get_their_own_of_a_pod_s_gpus() -> None:
    async with bed(NUMBER, (8_000,) * 4) as made:
        one = {GPU_NUMBER: 1}
        limits = {"early": {GPU_NUMBER: 2}, "sidecar": one, "main": one, "other": one}
        pod = Wanted("many", limits, "1,2,3", init=("early",), sidecars=("sidecar",))
        made.bind(pod)
        given = await made.run(pod)
        seen = {name: each["NVIDIA_VISIBLE_DEVICES"] for name, each in given.items()}
        assert seen == {
            "early": f"{made.uuid(1)},{made.uuid(2)}",
            "sidecar": made.uuid(1),
            "main": made.uuid(2),
            "other": made.uuid(3),
        }
        assert made.is_assigned(pod)


async def test_what_an_init_container_leaves_is_used_first_and_the_rest_is_of_its_gpu(
    share: Bed,
) -> None:
    limits = {"early": {GPU_MEMORY: 3}, "main": {GPU_MEMORY: 5}}
    pod = Wanted("one", limits, "0", init=("early",))
    share.bind(pod)
    await share.run(pod)
    early = set(share.kubelet.devices_of(pod.ref, "early", GPU_MEMORY))
    main = set(share.kubelet.devices_of(pod.ref, "main", GPU_MEMORY))
    assert early < main
    assert {each.partition("-")[0] for each in main} == {"0"}


async def test_a_pod_may_ask_for_both(share: Bed) -> None:
    pod = Wanted("both", {"a": {GPU_MEMORY: 5}, "b": {GPU_NUMBER: 1}}, "1")
    share.bind(pod)
    given = await share.run(pod)
    assert {each["NVIDIA_VISIBLE_DEVICES"] for each in given.values()} == {share.uuid(1)}
    assert share.is_assigned(pod)


async def test_requests_that_come_at_once_are_answered_one_by_one(share: Bed) -> None:
    pods = [sharing(f"p{n}", 3, str(n % 2), n) for n in range(8)]
    share.bind(*pods)
    # A kubelet asks for one pod at a time; whatever else asks must not get the same twice.
    asked = [frozenset(f"0-{n}-{unit}" for unit in range(3)) for n in range(8)]
    allocate = share.plugin.allocator.allocate
    answers = await asyncio.gather(*(allocate(GPU_MEMORY, ids) for ids in asked))
    seen = sorted(each["NVIDIA_VISIBLE_DEVICES"] for each in answers)
    assert seen == sorted([share.uuid(0)] * 4 + [share.uuid(1)] * 4)
    assert all(share.is_assigned(pod) for pod in pods)
