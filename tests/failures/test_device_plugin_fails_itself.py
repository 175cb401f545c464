"""A failure that nobody foresaw, in one of the plugin's tasks: it is told, and tried again."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from gpupods.accounting.names import GPU_MEMORY
from nodeagent.deviceplugin.sockets import KubeletFolder
from nodeagent.gpus.sample import GpuSample
from simulator.gpus import SimulatedGpus
from tests.pluginbed import bed, until


async def test_while_the_gpus_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = SimulatedGpus.sample
    asked = 0

    async def fails(self: SimulatedGpus, deadline_s: float) -> GpuSample:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise ZeroDivisionError
        return await sample(self, deadline_s)

    monkeypatch.setattr(SimulatedGpus, "sample", fails)
    with capture_logs() as logs:
        async with bed() as made:
            assert made.kubelet.capacity[GPU_MEMORY] == 104
    assert any(each.get("exc_info") for each in logs)


async def test_while_it_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    register = KubeletFolder.register
    tried = 0

    async def fails(self: KubeletFolder, *words: Any) -> None:
        nonlocal tried
        tried += 1
        if tried == 1:
            raise ZeroDivisionError
        await register(self, *words)

    monkeypatch.setattr(KubeletFolder, "register", fails)
    with capture_logs() as logs:
        async with bed() as made:
            await until(lambda: all(made.kubelet.allocatable.values()))
            assert tried >= 3
    assert any(each.get("error", "").startswith("ZeroDivisionError") for each in logs)
    assert any(each.get("exc_info") for each in logs)
