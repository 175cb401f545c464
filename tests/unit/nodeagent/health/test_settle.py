"""A sample under lasting indexes, with the GPUs that are away."""

from __future__ import annotations

from dataclasses import replace

from gpupods.identity import GpuUuid
from nodeagent.gpus.sample import Gpu, GpuSample, MigMode, Missing, MissingKind, Moment
from nodeagent.health.condition import GpuState
from nodeagent.health.inventory import Slot
from nodeagent.health.policy import built_in_policy
from nodeagent.health.settle import settle
from nodeagent.health.verdict import Verdict, judge

TAKEN = Moment(1_800_000_000.0, 1000.0)


def gpu(index: int, letter: str, bus: int) -> Gpu:
    address = f"00000000:{bus:02X}:00.0"
    uuid = GpuUuid(f"GPU-{letter}")
    return Gpu(index, uuid, "H100", address, 80, 1, 5, MigMode.DISABLED, ())


def verdict(index: int, letter: str, bus: int) -> Verdict:
    slot = Slot(index, GpuUuid(f"GPU-{letter}"), f"00000000:{bus:02X}:00.0", "H100")
    return judge(slot, GpuState(), built_in_policy())


KNOWN = (verdict(0, "A", 1), verdict(1, "B", 2))


def test_what_is_as_the_inventory_has_it_is_the_same_object() -> None:
    sample = GpuSample(TAKEN, (gpu(0, "A", 1), gpu(1, "B", 2)))
    assert settle(sample, KNOWN) is sample
    assert settle(sample, ()) is sample


def test_indexes_are_the_inventorys() -> None:
    shifted = GpuSample(TAKEN, (gpu(0, "B", 2),))
    settled = settle(shifted, KNOWN)
    assert [(each.uuid, each.index) for each in settled.gpus] == [("GPU-A", 0), ("GPU-B", 1)]


def test_one_that_is_away_has_nothing_that_changes_and_is_missing() -> None:
    settled = settle(GpuSample(TAKEN, (gpu(0, "B", 2),)), KNOWN)
    away = settled.gpus[0]
    assert (away.memory_total_bytes, away.utilization_percent, away.processes) == (None, None, ())
    (missing,) = settled.missing
    assert (missing.kind, missing.subject) == (MissingKind.GPU, "GPU-A")
    assert "gpu 0 (H100) at 00000000:01:00.0 was there before" in missing.reason


def test_the_drivers_word_for_it_is_kept_under_its_uuid() -> None:
    word = Missing(MissingKind.GPU, "gpu 0", "NVML_ERROR_GPU_IS_LOST")
    settled = settle(GpuSample(TAKEN, (gpu(1, "B", 2),), (word,)), KNOWN)
    assert settled.missing == (replace(word, subject="GPU-A"),)


def test_a_driver_that_does_not_answer_is_missing_once() -> None:
    why = Missing(MissingKind.DRIVER, "", "it hangs")
    settled = settle(GpuSample(None, (), (why,)), KNOWN)
    assert [each.uuid for each in settled.gpus] == ["GPU-A", "GPU-B"]
    assert settled.missing == (why,)


def test_one_whose_place_another_board_has_is_left_out() -> None:
    gone = Missing(MissingKind.GPU, "GPU-A", "no longer listed")
    sample = GpuSample(TAKEN, (gpu(0, "A", 1), gpu(1, "B", 2), gpu(2, "N", 1)), (gone,))
    settled = settle(sample, (verdict(0, "N", 1), verdict(1, "B", 2)))
    assert [(each.uuid, each.index) for each in settled.gpus] == [("GPU-N", 0), ("GPU-B", 1)]
    assert settled.missing == ()


def test_one_that_the_watch_has_not_seen_yet_stays() -> None:
    sample = GpuSample(TAKEN, (gpu(0, "A", 1), gpu(1, "B", 2), gpu(2, "C", 3)))
    assert settle(sample, KNOWN) is sample
