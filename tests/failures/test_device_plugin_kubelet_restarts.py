"""The kubelet starts again, wipes the folder and forgets its plugins: all devices are back."""

from __future__ import annotations

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from tests.pluginbed import bed, sharing, until


async def test_the_devices_are_back() -> None:
    async with bed() as made:
        before = made.kubelet.capacity
        sockets = set(made.folder.glob("gpupods-*"))
        await made.kubelet.stop()
        assert made.kubelet.capacity == {GPU_MEMORY: 0, GPU_NUMBER: 0}
        await made.kubelet.start()
        await until(lambda: made.kubelet.allocatable == before)
        assert not sockets & set(made.folder.glob("gpupods-*"))
        pod = sharing("one", 5, "1")
        made.bind(pod)
        given = await made.run(pod)
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(1)


async def test_a_pod_of_before_keeps_its_devices() -> None:
    async with bed() as made:
        old, new = sharing("old", 24, "0"), sharing("new", 5, "1", 2)
        made.bind(old)
        await made.run(old)
        held = made.kubelet.devices_of(old.ref, "main", GPU_MEMORY)
        await made.kubelet.stop()
        await made.kubelet.start()
        await made.until_offered()
        made.bind(new)
        await made.run(new)
        assert made.kubelet.devices_of(old.ref, "main", GPU_MEMORY) == held
        assert not set(held) & set(made.kubelet.devices_of(new.ref, "main", GPU_MEMORY))
