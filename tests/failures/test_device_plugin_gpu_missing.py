"""A GPU is missing: it keeps its devices, with the memory that it was last known to have."""

from __future__ import annotations

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from tests.pluginbed import NUMBER, bed, until

ALL = {GPU_MEMORY: 104, GPU_NUMBER: 2}


async def test_its_devices_stay() -> None:
    async with bed() as made:
        gone = made.node.gpus.pop(1)
        made.node.disturb()
        await until(lambda: not made.monitor.verdicts[1].fit)
        assert made.kubelet.capacity == made.kubelet.allocatable == ALL
        assert [card.uuid for card in made.plugin.cards()][1] == gone.uuid


async def test_they_stay_when_the_agent_starts_without_it() -> None:
    async with bed(NUMBER) as made:
        made.node.gpus.pop(1)
        made.node.disturb()
        await until(lambda: made.kubelet.allocatable[GPU_NUMBER] == 1)
        await made.restart_plugin()
        await until(lambda: made.kubelet.allocatable.get(GPU_NUMBER) == 1)
        assert made.kubelet.capacity == ALL
