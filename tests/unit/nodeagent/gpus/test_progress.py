"""The note of what a child is doing."""

import os
from collections.abc import Iterator

import pytest

from nodeagent.gpus.progress import Progress, new_file


@pytest.fixture
def file() -> Iterator[int]:
    made = new_file()
    yield made
    os.close(made)


def test_one_reads_what_the_other_noted_last(file: int) -> None:
    child, agent = Progress(file), Progress(file)
    assert agent.read() == ""
    child.note("nvmlDeviceGetUtilizationRates of GPU-1")
    child.note("nvmlShutdown")
    assert agent.read() == "nvmlShutdown"


def test_what_is_too_long_is_cut(file: int) -> None:
    progress = Progress(file)
    progress.note("x" * 1000)
    assert progress.read() == "x" * 255


def test_a_letter_cut_in_two_is_no_error(file: int) -> None:
    progress = Progress(file)
    progress.note("x" + "é" * 200)
    assert progress.read().startswith("xéé")
