"""The kubelet does not say which pod asks: none starts with a GPU that was chosen for another."""

from __future__ import annotations

import itertools

import pytest

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY
from simulator.kubelet import PodRefusedError
from tests.pluginbed import Wanted, bed, sharing


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_pods_that_ask_for_as_much_in_any_order(order: tuple[int, ...]) -> None:
    async with bed(memory_mib=(24_000, 80_000, 48_000)) as made:
        pods = [sharing(f"p{number}", 5, str(number), time_ns=number) for number in range(3)]
        made.bind(*pods)
        given = {}
        for number in order:
            pod = pods[number]
            given[number] = await made.kubelet.admit(pod.ref, pod.containers)
        for number in reversed(order):
            await made.kubelet.start_containers(pods[number].ref, pods[number].containers)
        for number, pod in enumerate(pods):
            said = int(made.annotations(pod)[GPU_INDEX])
            assert given[number]["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(said)
            assert made.is_assigned(pod)
        assert len({str(each) for each in given.values()}) == len(pods)


async def test_one_that_nobody_scheduled_does_not_start_with_another_s_gpu() -> None:
    async with bed() as made:
        theirs, stranger = sharing("theirs", 5, "1"), sharing("stranger", 5, None, None)
        made.bind(theirs, stranger)
        await made.kubelet.admit(stranger.ref, stranger.containers)
        with pytest.raises(PodRefusedError, match="team/stranger was given the GPUs that were"):
            await made.kubelet.start_containers(stranger.ref, stranger.containers)
        assert GPU_INDEX not in made.annotations(stranger)


async def test_pods_that_are_not_alike_do_not_exchange() -> None:
    async with bed() as made:
        one = Wanted("one", {"a": {GPU_MEMORY: 5}, "b": {GPU_MEMORY: 6}}, "0", 1)
        other = Wanted("other", {"a": {GPU_MEMORY: 5}, "b": {GPU_MEMORY: 7}}, "1", 2)
        made.bind(one, other)
        with pytest.raises(PodRefusedError, match=r"asks for 7 .*team/one for 5 and 6"):
            await made.run(other)
        # The kubelet has turned it away, so its claim is that of the one that is left.
        made.server.store.remove("pods", str(other.ref))
        given = await made.run(one)
        assert {each["NVIDIA_VISIBLE_DEVICES"] for each in given.values()} == {made.uuid(0)}


async def test_the_pod_that_was_meant_is_gone() -> None:
    async with bed() as made:
        gone, here = sharing("gone", 5, "0", 1), sharing("here", 5, "1", 2)
        made.bind(gone, here)
        given = await made.kubelet.admit(here.ref, here.containers)
        made.server.store.remove("pods", str(gone.ref))
        await made.kubelet.start_containers(here.ref, here.containers)
        assert made.annotations(here)[GPU_INDEX] == "0"
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(0)
