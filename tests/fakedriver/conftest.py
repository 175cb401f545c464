"""A fake driver of its own, and a process that uses it, for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.nvml_process import NvmlProcess
from tests.fakedriver.scenario import Gpu, Process, Scenario


@pytest.fixture
def driver(tmp_path: Path) -> FakeDriver:
    """Two GPUs, the first with one process."""
    gpus = (Gpu.number(0, Process(pid=4_000_123)), Gpu.number(1))
    return FakeDriver(tmp_path, Scenario(gpus))


@pytest.fixture
def nvml(driver: FakeDriver) -> Iterator[NvmlProcess]:
    """Initialised; h0 and h1 are the handles of the two GPUs."""
    with NvmlProcess(driver) as process:
        process.ask("h0 := n.nvmlDeviceGetHandleByIndex(0)")
        process.ask("h1 := n.nvmlDeviceGetHandleByIndex(1)")
        yield process
