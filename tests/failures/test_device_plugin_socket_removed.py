"""Somebody removes the plugin's socket, or its stream ends: the kubelet is told anew."""

from __future__ import annotations

from gpupods.accounting.names import GPU_MEMORY
from tests.pluginbed import bed, sharing, until


async def test_another_socket_is_made_and_registered() -> None:
    async with bed() as made:
        before = made.kubelet.allocatable
        for each in made.folder.glob("gpupods-*"):
            each.unlink()
        await until(lambda: all(made.kubelet.lists_of(each) > 1 for each in before))
        pod = sharing("one", 5, "1")
        made.bind(pod)
        given = await made.run(pod)
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(1)
        await until(lambda: made.kubelet.allocatable == before)


async def test_a_kubelet_that_has_dropped_the_plugin_is_told_anew() -> None:
    async with bed() as made:
        before = made.kubelet.allocatable
        await made.kubelet.drop(GPU_MEMORY)
        assert made.kubelet.allocatable[GPU_MEMORY] == 0
        await until(lambda: made.kubelet.allocatable == before)
