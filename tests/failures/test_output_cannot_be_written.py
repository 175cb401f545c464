"""The disk is full under stdout, or whoever read it has gone: said in one line, or not at all."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path
from typing import IO

import pytest

from tests.unit.gpupods.answers import busy_node
from tests.unit.gpupods.controller_double import ControllerDouble

GPUPODS = str(Path(sysconfig.get_path("scripts")) / "gpupods")
FULL = Path("/dev/full")
LIMIT_S = 120
READER_GONE = 141

SIMULATE = ("simulate", "--once", "--nodes", "1", "--pods", "3", "--cpu-nodes", "0")


def run_into(stdout: IO[bytes], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GPUPODS, *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


@pytest.mark.parametrize("output", ["table", "json"])
def test_an_answer_on_a_full_disk(output: str) -> None:
    with ControllerDouble(lambda _: busy_node()) as controller, FULL.open("wb") as full:
        done = run_into(full, "get", "x", "-o", output, "--server", controller.target)
    assert done.returncode == 1
    assert done.stderr == "Error: stdout cannot be written: No space left on device\n"


def test_help_on_a_full_disk() -> None:
    with FULL.open("wb") as full:
        done = run_into(full, "--help")
    assert done.returncode == 1
    assert done.stderr == "Error: stdout cannot be written: No space left on device\n"


def test_the_simulator_ends_in_silence_when_its_reader_has_gone() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        done = run_into(pipe, *SIMULATE)
    assert done.returncode == READER_GONE
    assert done.stderr == ""


def test_the_simulator_on_a_full_disk() -> None:
    with FULL.open("wb") as full:
        done = run_into(full, *SIMULATE)
    assert done.returncode == 1
    assert done.stderr == "Error: [Errno 28] No space left on device\n"
