"""GPUs' memory is remembered: by the agent, and by the next one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpupods.identity import GpuUuid
from nodeagent.deviceplugin.memory import FILE, GpuMemory
from nodeagent.gpus.sample import Gpu, GpuSample, MigMode

MIB = 1024 * 1024


def sample(**memory_mib: int | None) -> GpuSample:
    gpus = tuple(
        Gpu(
            index=index,
            uuid=GpuUuid(uuid),
            name="A GPU",
            pci_address="",
            memory_total_bytes=None if mib is None else mib * MIB,
            memory_used_bytes=None,
            utilization_percent=None,
            mig_mode=MigMode.UNKNOWN,
            processes=(),
        )
        for index, (uuid, mib) in enumerate(memory_mib.items())
    )
    return GpuSample(None, gpus)


async def test_what_was_learnt_stays_when_a_gpu_tells_no_more() -> None:
    memory = GpuMemory(None)
    await memory.learn(sample(a=100, b=200))
    await memory.learn(sample(a=100, b=None))
    await memory.learn(sample(a=100))
    assert memory.known == {"a": 100, "b": 200}


async def test_the_next_agent_knows_it(tmp_path: Path) -> None:
    await GpuMemory(tmp_path / "state").load()
    before = GpuMemory(tmp_path / "state")
    await before.learn(sample(a=100))
    after = GpuMemory(tmp_path / "state")
    await after.load()
    assert after.known == {"a": 100}


async def test_nothing_is_written_when_nothing_is_new(tmp_path: Path) -> None:
    memory = GpuMemory(tmp_path)
    await memory.learn(sample(a=100))
    (tmp_path / FILE).unlink()
    await memory.learn(sample(a=100))
    assert not (tmp_path / FILE).exists()
    await memory.learn(sample(a=90))
    assert (tmp_path / FILE).exists()


@pytest.mark.parametrize(
    "content",
    [
        b'{"a": "much"',
        b"",
        b"\xff",
        b'{"a": 0}',
        b'{"a": -1}',
        b'{"a": 99999999999999999999}',
        b"[" * 9**5,
    ],
    ids=lambda content: repr(content[:20]),
)
async def test_a_file_that_makes_no_sense_is_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    memory = GpuMemory(tmp_path)
    await memory.load()
    assert memory.known == {}
    await memory.learn(sample(a=100))
    after = GpuMemory(tmp_path)
    await after.load()
    assert after.known == {"a": 100}


async def test_a_folder_that_cannot_be_written_costs_only_the_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    memory = GpuMemory(tmp_path / "file")
    await memory.load()
    await memory.learn(sample(a=100))
    assert memory.known == {"a": 100}
