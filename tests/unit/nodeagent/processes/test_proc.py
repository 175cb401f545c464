"""/proc as it is read: the real one, and trees that look like it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupods.identity import Pid
from nodeagent.processes.proc import (
    INITIAL_PID_NAMESPACE,
    KEPT_OPEN,
    ProcTable,
    parse_stat,
)

PID = Pid(4242)
CGROUP = "0::/system.slice/trainer.service\n"


def stat_text(name: bytes = b"python3", start_ticks: int = 12345) -> bytes:
    before = b" S 1 4242 4242 0 -1 4194304 100 0 0 0 7 3 0 0 20 0 1 0 "
    return b"4242 (" + name + b")" + before + b"%d 1000000 250 18446744073709551615\n" % start_ticks


def process(root: Path, stat: bytes, cgroup: str | None = CGROUP) -> ProcTable:
    folder = root / str(PID)
    folder.mkdir()
    (folder / "stat").write_bytes(stat)
    if cgroup is not None:
        (folder / "cgroup").write_text(cgroup)
    return ProcTable(root)


def test_facts_of_a_process(tmp_path: Path) -> None:
    facts = process(tmp_path, stat_text()).read(PID)
    assert facts is not None
    assert (facts.pid, facts.name, facts.cgroup) == (PID, "python3", CGROUP)
    assert facts.start_boot_s == 12345 / os.sysconf("SC_CLK_TCK")


def test_own_process_as_the_kernel_has_it() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            facts = ProcTable().read(Pid(child.pid))
        finally:
            child.kill()
    after = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert facts is not None
    assert before - 0.01 <= facts.start_boot_s <= after
    assert facts.cgroup == Path("/proc/self/cgroup").read_text()


def test_no_such_process(tmp_path: Path) -> None:
    assert ProcTable(tmp_path).read(PID) is None
    with subprocess.Popen(["true"]) as child:
        child.wait()
    assert ProcTable().read(Pid(child.pid)) is None


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (b"a b", "a b"),
        (b"x) S 1 (y", "x) S 1 (y"),
        (b"))", "))"),
        (b"", ""),
        (b"line\nbreak", "line\nbreak"),
        (b"back\\nslash", "back\\nslash"),
        (b"caf\xc3\xa9", "café"),
        (b"\xff", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_names_are_as_the_process_gave_them(tmp_path: Path, written: bytes, name: str) -> None:
    facts = process(tmp_path, stat_text(written)).read(PID)
    assert facts is not None
    assert facts.name == name


@pytest.mark.parametrize("name", ["a) (b", "new\nline", "back\\n", "(", " "])
def test_names_as_the_real_kernel_writes_them(name: str) -> None:
    script = "import sys; open('/proc/self/comm', 'w').write(sys.argv[1]); print(); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        facts = ProcTable().read(Pid(child.pid))
        child.kill()
    assert facts is not None
    assert facts.name == name


def test_cgroup_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    facts = process(tmp_path, stat_text(), cgroup=None).read(PID)
    assert facts is not None
    assert facts.cgroup is None


def test_cgroup_longer_than_one_read(tmp_path: Path) -> None:
    long = "".join(f"{number}:controller{number}:/{'x' * 200}\n" for number in range(40))
    facts = process(tmp_path, stat_text(), long).read(PID)
    assert facts is not None
    assert facts.cgroup == long


@pytest.mark.parametrize("stat", [b"", b"4242", b"4242 (sh", b"4242 (sh) S 1", b")(", b"\0" * 9])
def test_stat_that_is_none_is_no_process(tmp_path: Path, stat: bytes) -> None:
    assert process(tmp_path, stat).read(PID) is None


def test_process_replaced_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    """Its stat changes between the first look and the cgroup, whose reading waits for that."""
    table = process(tmp_path, stat_text(b"old", 100), cgroup=None)
    cgroup = tmp_path / str(PID) / "cgroup"
    os.mkfifo(cgroup)

    def replace() -> None:
        with cgroup.open("w") as waiting:  # opens once the reader has come to the cgroup
            cgroup.unlink()
            (tmp_path / str(PID) / "stat").write_bytes(stat_text(b"new", 200))
            cgroup.write_text("0::/of-the-new\n")
            waiting.write("0::/of-the-old\n")

    replacing = threading.Thread(target=replace, daemon=True)
    replacing.start()
    facts = table.read(PID)
    replacing.join(10)
    assert facts is not None
    assert (facts.name, facts.cgroup) == ("new", "0::/of-the-new\n")


def test_process_replaced_again_and_again_is_not_made_up(tmp_path: Path) -> None:
    table = process(tmp_path, stat_text(start_ticks=100), cgroup=None)
    cgroup = tmp_path / str(PID) / "cgroup"
    os.mkfifo(cgroup)

    def replace(start_ticks: int) -> None:
        with cgroup.open("w") as waiting:
            cgroup.unlink()
            os.mkfifo(cgroup)
            (tmp_path / str(PID) / "stat").write_bytes(stat_text(start_ticks=start_ticks))
            waiting.write("0::/somewhere\n")

    def replace_twice() -> None:
        replace(200)
        replace(300)

    replacing = threading.Thread(target=replace_twice, daemon=True)
    replacing.start()
    assert table.read(PID) is None
    replacing.join(10)


def test_what_changes_of_a_process_is_seen(tmp_path: Path) -> None:
    table = process(tmp_path, stat_text(b"before"))
    assert table.read(PID) is not None
    (tmp_path / str(PID) / "stat").write_bytes(stat_text(b"after"))
    (tmp_path / str(PID) / "cgroup").write_text(long := "0::/moved\n" * 1000)
    facts = table.read(PID)
    assert facts is not None
    assert (facts.name, facts.cgroup) == ("after", long)
    (tmp_path / str(PID) / "cgroup").write_text("0::/back\n")
    facts = table.read(PID)
    assert facts is not None
    assert facts.cgroup == "0::/back\n"


def test_process_that_took_the_pid_of_one_read_before(tmp_path: Path) -> None:
    table = process(tmp_path, stat_text(b"old", 100))
    assert table.read(PID) is not None
    (tmp_path / str(PID) / "stat").write_bytes(stat_text(b"new", 200))
    (tmp_path / str(PID) / "cgroup").unlink()
    (tmp_path / str(PID) / "cgroup").write_text("0::/of-the-new\n")
    facts = table.read(PID)
    assert facts is not None
    assert (facts.name, facts.cgroup) == ("new", "0::/of-the-new\n")


def test_process_that_has_ended_since_it_was_read_is_gone() -> None:
    table = ProcTable()
    with subprocess.Popen(["sleep", "60"]) as child:
        assert table.read(Pid(child.pid)) is not None
        child.kill()
        child.wait()
        assert table.read(Pid(child.pid)) is None


def test_files_that_stay_open_are_bounded(tmp_path: Path) -> None:
    table = process(tmp_path, stat_text())
    for number in range(1, 2 * KEPT_OPEN):
        (tmp_path / str(number)).symlink_to(tmp_path / str(PID))
    for _ in range(2):
        assert all(table.read(Pid(number)) for number in range(1, 2 * KEPT_OPEN))
    open_here = [entry for entry in Path("/proc/self/fd").iterdir() if _within(entry, tmp_path)]
    assert len(open_here) == 2 * KEPT_OPEN


def _within(entry: Path, folder: Path) -> bool:
    try:
        return entry.readlink().is_relative_to(folder)
    except FileNotFoundError:  # the one that lists them
        return False


def test_node_pids_are_seen_in_the_initial_pid_namespace_only(tmp_path: Path) -> None:
    namespaces = tmp_path / "self" / "ns"
    namespaces.mkdir(parents=True)
    table = ProcTable(tmp_path)
    assert not table.sees_host_pids()
    (namespaces / "pid").symlink_to("pid:[4026532798]")
    assert not table.sees_host_pids()
    (namespaces / "pid").unlink()
    (namespaces / "pid").symlink_to(INITIAL_PID_NAMESPACE)
    assert table.sees_host_pids()


@given(st.binary())
def test_any_bytes_are_a_stat_or_none(content: bytes) -> None:
    stat = parse_stat(content)
    assert stat is None or stat.start_ticks >= 0


@given(
    st.binary(max_size=64),
    st.integers(min_value=0, max_value=2**63),
)
def test_any_name_leaves_the_start_time_right(name: bytes, ticks: int) -> None:
    stat = parse_stat(stat_text(name, ticks))
    assert stat is not None
    assert (stat.name, stat.start_ticks) == (name.decode(errors="replace"), ticks)
