"""The child process by itself: what it loads, what it speaks, when it ends."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

from nodeagent.gpus import wire
from nodeagent.gpus.progress import new_file
from tests.driverprocess import TWO_GPUS
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.faults import Fault, NvmlReturn

MODULE = (sys.executable, "-m", "nodeagent.gpus.worker")
HEAVY = {"grpc", "google", "kubernetes", "msgspec", "structlog", "aiohttp", "yaml", "asyncio"}


def ask(
    fake: FakeDriver, request: bytes, parent: int | None = None
) -> "subprocess.CompletedProcess[bytes]":
    progress = new_file()
    try:
        return subprocess.run(
            (*MODULE, str(parent or os.getpid()), str(progress)),
            input=request,
            env=fake.environment(),
            capture_output=True,
            check=False,
            timeout=60,
            pass_fds=(progress,),
        )
    finally:
        os.close(progress)


def frames(stream: bytes) -> list[bytes]:
    found = []
    while stream:
        (length,) = struct.unpack(">I", stream[:4])
        found.append(stream[4 : 4 + length])
        stream = stream[4 + length :]
    return found


def test_it_loads_only_what_it_needs() -> None:
    loaded = subprocess.check_output(
        (sys.executable, "-c", "import nodeagent.gpus.worker, sys; print(*sys.modules)"), text=True
    )
    assert {name.partition(".")[0] for name in loaded.split()} & HEAVY == set()


def test_it_answers_each_request_and_ends_with_its_input(tmp_path: Path) -> None:
    done = ask(FakeDriver(tmp_path, TWO_GPUS), wire.frame(wire.SAMPLE) * 3)
    assert done.returncode == 0
    samples = [json.loads(body) for body in frames(done.stdout)]
    assert [[gpu["index"] for gpu in sample["gpus"]] for sample in samples] == [[0, 1]] * 3
    assert samples[0]["gpus"][0]["processes"][0]["pid"] == 4_000_101


def test_it_ends_after_a_sample_that_could_not_be_taken(tmp_path: Path) -> None:
    not_loaded = TWO_GPUS.with_faults(Fault.returns(NvmlReturn.DRIVER_NOT_LOADED))
    done = ask(FakeDriver(tmp_path, not_loaded), wire.frame(wire.SAMPLE) * 3)
    assert done.returncode == 0
    (sample,) = map(json.loads, frames(done.stdout))
    assert sample["taken"] is None


def test_a_request_cut_short_is_the_end(tmp_path: Path) -> None:
    done = ask(FakeDriver(tmp_path, TWO_GPUS), wire.frame(wire.SAMPLE)[:-1])
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_request_it_does_not_know_is_an_error(tmp_path: Path) -> None:
    done = ask(FakeDriver(tmp_path, TWO_GPUS), wire.frame(b"dance"))
    assert done.returncode == 1
    assert b"asked b'dance'" in done.stderr


def test_what_a_library_prints_is_no_part_of_the_answer() -> None:
    chatty = (
        "import os\n"
        "from nodeagent.gpus import worker\n"
        "replies = worker.take_stdout()\n"
        "os.system('echo chatter')\n"
        "replies.write(b'answer')\n"
    )
    done = subprocess.run(
        (sys.executable, "-c", chatty), capture_output=True, check=True, timeout=60
    )
    assert done.stdout == b"answer"
    assert b"chatter" in done.stderr


def test_it_does_not_outlive_an_agent_that_ended_before_it_was_up(tmp_path: Path) -> None:
    done = ask(FakeDriver(tmp_path, TWO_GPUS), wire.frame(wire.SAMPLE), parent=1)
    assert (done.returncode, done.stdout) == (0, b"")
