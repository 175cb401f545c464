"""Process lists merged to one row for each (pid, MIG device), and which version is asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent.gpus.process_lists import ListedProcess, best_version, merge
from nodeagent.gpus.sample import MigDevice, ProcessType

COMPUTE, GRAPHICS, MPS = ProcessType.COMPUTE, ProcessType.GRAPHICS, ProcessType.MPS
ONE = MigDevice(7, 0, "MIG-1")
TWO = MigDevice(7, 1, "MIG-2")


def listed(
    pid: int,
    kind: ProcessType = COMPUTE,
    memory: int | None = 10,
    instances: tuple[int, int] | None = None,
) -> ListedProcess:
    return ListedProcess(pid, kind, memory, instances)


def test_one_process_in_three_lists_is_one_row_with_its_types_ascending() -> None:
    (row,) = merge([listed(1, MPS), listed(1, COMPUTE), listed(1, GRAPHICS)], [])
    assert row.types == (COMPUTE, GRAPHICS, MPS)
    assert row.used_memory_bytes == 10


def test_memory_known_in_one_list_only_is_known() -> None:
    (row,) = merge([listed(1, COMPUTE, None), listed(1, GRAPHICS, 20)], [])
    assert row.used_memory_bytes == 20


def test_zero_bytes_are_not_unknown() -> None:
    known, unknown = merge([listed(1, COMPUTE, 0), listed(2, COMPUTE, None)], [])
    assert known.used_memory_bytes == 0
    assert unknown.used_memory_bytes is None


def test_the_gpus_list_repeats_what_its_mig_devices_list() -> None:
    rows = merge([listed(1, instances=(7, 0))], [(ONE, [listed(1, instances=(7, 0))])])
    assert [(row.pid, row.mig) for row in rows] == [(1, ONE)]


def test_a_repetition_that_does_not_say_where_makes_no_second_row() -> None:
    rows = merge([listed(1)], [(ONE, [listed(1)])])
    assert [(row.pid, row.mig) for row in rows] == [(1, ONE)]


def test_a_process_on_two_mig_devices_has_a_row_on_each() -> None:
    rows = merge([], [(TWO, [listed(1)]), (ONE, [listed(1)])])
    assert [(row.pid, row.mig) for row in rows] == [(1, ONE), (1, TWO)]


def test_the_gpus_list_fills_in_for_a_mig_device_that_did_not_answer() -> None:
    rows = merge([listed(1, instances=(7, 1))], [(ONE, []), (TWO, [])])
    assert [(row.pid, row.mig) for row in rows] == [(1, TWO)]


def test_a_process_of_an_unknown_instance_stays_with_the_gpu() -> None:
    rows = merge([listed(1, instances=(3, 0))], [(ONE, [])])
    assert [(row.pid, row.mig) for row in rows] == [(1, None)]


processes = st.lists(
    st.builds(
        ListedProcess,
        st.integers(1, 5),
        st.sampled_from(ProcessType),
        st.none() | st.integers(0, 100),
        st.none() | st.sampled_from([(7, 0), (7, 1), (9, 9)]),
    )
)


@given(of_gpu=processes, on_one=processes, on_two=processes)
def test_nothing_is_lost_doubled_or_made_up(
    of_gpu: list[ListedProcess], on_one: list[ListedProcess], on_two: list[ListedProcess]
) -> None:
    rows = merge(of_gpu, [(ONE, on_one), (TWO, on_two)])
    everything = [*of_gpu, *on_one, *on_two]
    assert {row.pid for row in rows} == {entry.pid for entry in everything}
    keys = [(row.pid, row.mig.uuid if row.mig else "") for row in rows]
    assert keys == sorted(set(keys))
    for row in rows:
        of_pid = [entry for entry in everything if entry.pid == row.pid]
        assert set(row.types) <= {entry.type for entry in of_pid}
        assert row.used_memory_bytes in {entry.used_memory_bytes for entry in of_pid}


@pytest.mark.parametrize(
    ("driver", "version"),
    [
        ("525.147.05", 3),
        ("535.42", 3),
        ("535.43.02", 2),
        ("535.54.03", 2),
        ("535.85", 2),
        ("535.86.10", 3),
        ("580.65.06", 3),
        ("", 3),
        ("unheard-of", 3),
    ],
)
def test_the_version_follows_the_driver(driver: str, version: int) -> None:
    assert best_version(driver) == version
