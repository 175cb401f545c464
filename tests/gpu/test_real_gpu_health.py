"""The watch of health on a real driver: each GPU is known, and judged under its index."""

import asyncio

import pytest

from nodeagent.gpus.sample import GpuSample
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.sources.nvml_watch import NvmlWatch
from tests.gpu.conftest import AMPLE_S
from tests.healthwatch import until_verdicts

pytestmark = pytest.mark.gpu


async def test_every_gpu_is_judged_under_its_index(machine: GpuSample) -> None:
    monitor = HealthMonitor([NvmlWatch(0.5, AMPLE_S, start_limit_s=AMPLE_S)])
    await monitor.start()
    try:
        await until_verdicts(monitor, lambda them: len(them) == len(machine.gpus))
        await asyncio.sleep(2.0)  # a few readings, and waits for events between them
        known = [(gpu.index, gpu.uuid, gpu.pci_address) for gpu in machine.gpus]
        found = [(each.index, each.uuid, each.pci_address) for each in monitor.verdicts]
        assert found == known
        assert monitor.problems == ()
        print(*monitor.verdicts, sep="\n")
    finally:
        await monitor.stop()
