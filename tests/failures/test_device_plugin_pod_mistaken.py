"""The kubelet does not say which pod asks: none starts with a GPU that was chosen for another."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER
from gpupods.kube.failures import UnreachableError
from nodeagent.deviceplugin.pod_api import PodApi
from nodeagent.deviceplugin.pods import GpuPod
from simulator.kubelet_plugins import PodRefusedError
from tests.pluginbed import NUMBER, Wanted, bed, owning, sharing


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


async def test_who_has_the_claim_of_one_that_has_another_s_by_now_takes_nothing_from_it() -> None:
    async with bed(NUMBER, (24_000,) * 3) as made:
        gone, heir = owning("gone", 1, "0", 1), owning("heir", 1, "1", 2)
        last = owning("last", 1, "2", 3)
        made.bind(gone, heir, last)
        given = {}
        for pod in (heir, last):  # one has what was chosen for gone, the other what was for heir
            given[pod.name] = await made.kubelet.admit(pod.ref, pod.containers)
        made.server.store.remove("pods", str(gone.ref))
        for pod in (heir, last):
            await made.kubelet.start_containers(pod.ref, pod.containers)
        for pod in (heir, last):
            index = int(made.annotations(pod)[GPU_INDEX])
            assert given[pod.name]["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(index)
        assert made.annotations(heir)[GPU_INDEX] == "0"
        assert made.annotations(last)[GPU_INDEX] == "1"


@pytest.mark.parametrize("how", ["deleted", "failed"])
async def test_its_memory_is_another_s_by_the_time_that_the_container_starts(how: str) -> None:
    """While an image is pulled, a scheduler gives away what has become free."""
    async with bed() as made:
        gone, here = sharing("gone", 20, "0", 1), sharing("here", 20, "1", 2)
        made.bind(gone, here)
        await made.kubelet.admit(here.ref, here.containers)
        made.server.store.remove("pods", str(gone.ref))
        if how == "failed":
            made.server.store.put("pods", gone.object | {"status": {"phase": "Failed"}})
        made.bind(sharing("third", 20, "0", 3))
        with pytest.raises(PodRefusedError, match="gone has gone, and others have them by now"):
            await made.kubelet.start_containers(here.ref, here.containers)
        assert made.annotations(here)[GPU_INDEX] == "1"


async def test_a_whole_gpu_of_one_that_is_gone_is_another_s() -> None:
    async with bed() as made:
        gone, here = owning("gone", 1, "0", 1), owning("here", 1, "1", 2)
        made.bind(gone, here)
        await made.kubelet.admit(here.ref, here.containers)
        made.server.store.remove("pods", str(gone.ref))
        made.bind(sharing("third", 1, "0", 3))
        with pytest.raises(PodRefusedError, match="others have them by now"):
            await made.kubelet.start_containers(here.ref, here.containers)


async def test_a_pod_that_asks_for_less_does_not_inherit_all() -> None:
    async with bed() as made:
        gone = Wanted("gone", {"a": {GPU_NUMBER: 1}, "b": {GPU_NUMBER: 1}}, "0,1", 1)
        here = owning("here", 1, "1", 2)
        made.bind(gone, here)
        await made.kubelet.admit(here.ref, here.containers)
        made.server.store.remove("pods", str(gone.ref))
        with pytest.raises(PodRefusedError, match="team/here was given the GPUs that were chosen"):
            await made.kubelet.start_containers(here.ref, here.containers)
        assert made.annotations(here)[GPU_INDEX] == "1"


async def test_an_exchange_that_breaks_off_leaves_no_gpu_uncounted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[str] = []
    annotate = PodApi.annotate

    async def break_off(self: PodApi, pod: GpuPod, **words: Any) -> None:
        written.append(pod.ref.name)
        if len(written) == 2:
            raise UnreachableError("PATCH: no answer in time")
        await annotate(self, pod, **words)

    async with bed() as made:
        one, other = sharing("one", 5, "0", 1), sharing("other", 5, "1", 2)
        made.bind(one, other)
        await made.kubelet.admit(other.ref, other.containers)
        monkeypatch.setattr(PodApi, "annotate", break_off)
        with pytest.raises(PodRefusedError, match="no answer in time"):
            await made.kubelet.start_containers(other.ref, other.containers)
        assert made.annotations(other)[GPU_INDEX] == "0,1", "it runs on one of the two"
        assert made.annotations(one)[GPU_INDEX] == "0"
        await made.kubelet.start_containers(other.ref, other.containers)
        assert made.annotations(other)[GPU_INDEX] == "0"
        assert made.annotations(one)[GPU_INDEX] == "1"


async def test_the_kubelet_does_not_tell_whose_devices_they_are() -> None:
    async with bed() as made:
        pod = sharing("one", 5, "1")
        made.bind(pod)
        await made.kubelet.admit(pod.ref, pod.containers)
        made.kubelet._untold.add((pod.ref, "main"))
        with pytest.raises(PodRefusedError, match="the kubelet does not tell whose devices these"):
            await made.kubelet.start_containers(pod.ref, pod.containers)
        made.kubelet._untold.clear()
        await made.kubelet.start_containers(pod.ref, pod.containers)


async def test_one_of_its_name_runs_elsewhere_by_now() -> None:
    async with bed() as made:
        meant, here = sharing("meant", 5, "0", 1), sharing("here", 5, "1", 2)
        made.bind(meant, here)
        await made.kubelet.admit(here.ref, here.containers)
        elsewhere = sharing("here", 5, "1", 2).object
        elsewhere["spec"]["nodeName"] = "gpu-2"
        made.server.store.remove("pods", str(here.ref))
        made.server.store.put("pods", elsewhere)
        with pytest.raises(PodRefusedError, match="delete team/here"):
            await made.kubelet.start_containers(here.ref, here.containers)
        assert made.annotations(here)[GPU_INDEX] == "1"
