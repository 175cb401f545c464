"""GPUs keep the index they had first; those that leave are missed."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gpupods.identity import GpuUuid, Pid
from nodeagent.gpus.known import KnownGpus
from nodeagent.gpus.sample import (
    Gpu,
    GpuProcess,
    GpuSample,
    MigMode,
    Missing,
    MissingKind,
    Moment,
    ProcessType,
)

NOW = Moment(1.0, 1.0)


def gpu(name: str, index: int) -> Gpu:
    process = GpuProcess(Pid(1), (ProcessType.COMPUTE,), 5)
    uuid = GpuUuid(f"GPU-{name}")
    return Gpu(index, uuid, "H100", f"bus {name}", 100, 10, 50, MigMode.DISABLED, (process,))


def sample(*gpus: Gpu, missing: tuple[Missing, ...] = ()) -> GpuSample:
    return GpuSample(NOW, gpus, missing)


def test_a_sample_without_news_is_passed_on_as_it_is() -> None:
    known = KnownGpus()
    first = sample(gpu("a", 0), gpu("b", 1))
    assert known.recognise(first) is first
    again = sample(gpu("a", 0), gpu("b", 1))
    assert known.recognise(again) is again


def test_nothing_seen_is_nothing_known() -> None:
    assert KnownGpus().last_seen() == ()


def test_the_gpus_behind_one_that_leaves_keep_their_indexes() -> None:
    known = KnownGpus()
    known.recognise(sample(gpu("a", 0), gpu("b", 1), gpu("c", 2)))
    shifted = known.recognise(sample(gpu("a", 0), gpu("c", 1)))
    assert [(g.uuid, g.index) for g in shifted.gpus] == [("GPU-a", 0), ("GPU-b", 1), ("GPU-c", 2)]
    left = shifted.gpus[1]
    assert left == replace(
        gpu("b", 1),
        memory_total_bytes=None,
        memory_used_bytes=None,
        utilization_percent=None,
        processes=(),
        processes_whole=False,
    )
    (missing,) = shifted.missing
    assert (missing.kind, missing.subject) == (MissingKind.GPU, "GPU-b")
    assert "gpu 1 (H100) at bus b" in missing.reason


def test_one_that_comes_back_is_missed_no_more() -> None:
    known = KnownGpus()
    whole = sample(gpu("a", 0), gpu("b", 1))
    known.recognise(whole)
    known.recognise(sample(gpu("b", 0)))
    assert known.recognise(whole) == whole


def test_a_new_gpu_takes_no_index_in_use() -> None:
    known = KnownGpus()
    known.recognise(sample(gpu("a", 0), gpu("b", 1)))
    swapped = known.recognise(sample(gpu("new", 0), gpu("b", 1)))
    assert {g.uuid: g.index for g in swapped.gpus} == {"GPU-a": 0, "GPU-b": 1, "GPU-new": 2}


def test_an_unreachable_gpu_known_by_its_index_is_named_by_its_uuid() -> None:
    known = KnownGpus()
    known.recognise(sample(gpu("a", 0), gpu("b", 1), gpu("c", 2)))
    known.recognise(sample(gpu("b", 0), gpu("c", 1)))
    why = Missing(MissingKind.GPU, "gpu 1", "lost")  # the driver's own count by now
    told = known.recognise(sample(gpu("b", 0), missing=(why,)))
    by_subject = {entry.subject: entry.reason for entry in told.missing}
    assert set(by_subject) == {"GPU-a", "GPU-c"}
    assert by_subject["GPU-c"] == "gpu 2 (H100) at bus c: lost"


def test_other_missing_parts_are_left_as_they_are() -> None:
    known = KnownGpus()
    other = Missing(MissingKind.GPU, "GPU-a", "no name")
    assert known.recognise(sample(gpu("a", 0), missing=(other,))).missing == (other,)


rounds = st.lists(st.lists(st.sampled_from("abcdef"), unique=True), max_size=8)


@given(rounds)
def test_whatever_comes_and_goes_indexes_stay_and_nothing_vanishes(seen: list[list[str]]) -> None:
    known = KnownGpus()
    indexes: dict[GpuUuid, int] = {}
    for names in seen:
        told = known.recognise(sample(*(gpu(name, at) for at, name in enumerate(names))))
        now = {g.uuid: g.index for g in told.gpus}
        assert now.items() >= indexes.items()
        assert len(set(now.values())) == len(now)
        assert {entry.subject for entry in told.missing} == set(now) - {f"GPU-{n}" for n in names}
        indexes = now
    assert {g.uuid for g in known.last_seen()} == set(indexes)
