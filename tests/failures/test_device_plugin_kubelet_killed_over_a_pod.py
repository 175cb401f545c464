"""The kubelet is killed before it has noted what a pod was given: asked again, it gets the same."""

from __future__ import annotations

from tests.pluginbed import bed, sharing


async def test_it_is_given_the_same_again() -> None:
    async with bed() as made:
        pod = sharing("one", 5, "1")
        made.bind(pod)
        first = await made.kubelet.admit(pod.ref, pod.containers)
        assert made.is_assigned(pod)
        await made.kubelet.stop()
        made.kubelet.remove_pod(pod.ref)  # it was in no file yet
        await made.kubelet.start()
        await made.until_offered()
        assert await made.run(pod) == first


async def test_what_another_pod_has_is_not_given_again() -> None:
    async with bed(look_for_s=0.05) as made:
        one, other = sharing("one", 5, "1", 1), sharing("other", 5, "0", 2)
        made.bind(one, other)
        first = await made.kubelet.admit(one.ref, one.containers)
        second = await made.kubelet.admit(other.ref, other.containers)
        await made.kubelet.stop()
        made.kubelet.remove_pod(one.ref)
        await made.kubelet.start()
        await made.until_offered()
        assert await made.run(one) == first
        await made.kubelet.start_containers(other.ref, other.containers)
        assert second["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(0)
