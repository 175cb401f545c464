"""A node shows no GPU (yet): nothing is registered, and all is once there are some."""

from __future__ import annotations

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from simulator.changes import add_gpu
from simulator.kinds import DriverFault
from tests.pluginbed import bed


async def test_a_node_without_gpus_is_not_said_to_have_none() -> None:
    async with bed(memory_mib=()) as made:
        add_gpu(made.cluster, made.node, "A GPU", 8_000)
        made.node.disturb()
        await made.until_offered()
        assert made.kubelet.capacity == {GPU_MEMORY: 8, GPU_NUMBER: 1}


async def test_a_driver_that_comes_late() -> None:
    async with bed(kubelet=False, memory_mib=()) as made:
        made.node.driver_fault = DriverFault.NOT_LOADED
        await made.kubelet.start()
        add_gpu(made.cluster, made.node, "A GPU", 8_000)
        made.node.disturb()
        assert made.kubelet.capacity == {}
        made.node.driver_fault = DriverFault.NONE
        made.node.disturb()
        await made.until_offered()
        assert made.kubelet.capacity == {GPU_MEMORY: 8, GPU_NUMBER: 1}
