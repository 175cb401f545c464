"""The controller's informers against client-go's: time to be synced, and memory, on kube-apiserver.

20,000 pods of 22 kB on 500 nodes, loaded into etcd. The three contenders take turns, each time in
a new process; client-go's stripped one keeps by a transform just what ours keeps.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench import controller_sync_cluster as content
from tests.bench.report import Figure, at_most, median, quick, show
from tests.realparts import parts
from tests.realparts.apiserver import Apiserver
from tests.realparts.gobuild import BuildError, cache_folder
from tests.realparts.objects import Json

PODS, NODES, POD_BYTES = 20_000, 500, 22_000
ROUNDS = 5
SETTLE_S = 3.0
"""After the sync, before memory is read: garbage collectors have their say in it."""
SYNC_LIMIT_S = 300.0
CLIENTGO = Path(__file__).with_name("clientgo")

OURS, WHOLE, STRIPPED = "ours", "client-go", "client-go stripped"


@dataclass
class Measured:
    """Of one contender, a value for each round."""

    synced_s: list[float] = field(default_factory=list)
    resident_mib: list[float] = field(default_factory=list)
    peak_mib: list[float] = field(default_factory=list)
    processor_s: list[float] = field(default_factory=list)
    """From the start of the process, all its threads."""


def main() -> None:
    """Measure and print."""
    pods = PODS // 10 if quick() else PODS
    clientgo = str(build_clientgo())
    with Apiserver(parts.ensure()) as server:
        server.load(objects(pods))
        kubeconfig = str(server.kubeconfig)
        commands = {
            OURS: [sys.executable, "-m", "tests.bench.controller_sync_ours", kubeconfig],
            WHOLE: [clientgo, "--kubeconfig", kubeconfig],
            STRIPPED: [clientgo, "--strip", "--kubeconfig", kubeconfig],
        }
        measured = {name: Measured() for name in commands}
        measure(commands[WHOLE], pods, Measured())  # the first list of a new server is slower
        for _ in range(2 if quick() else ROUNDS):
            for name, command in commands.items():
                measure(command, pods, measured[name])
    show(
        f"Informers on kube-apiserver: {pods:,} pods of {POD_BYTES // 1000} kB on {NODES} nodes",
        figures(measured),
        [
            "medians; memory is the resident set of the whole process, some seconds after the sync",
            "client-go has by then collected its garbage and returned what was free",
        ],
    )


def objects(pods: int) -> Iterator[Json]:
    """All nodes and pods."""
    yield from (content.node(number) for number in range(NODES))
    yield from content.pods(pods, NODES, POD_BYTES)


def build_clientgo() -> Path:
    """The Go program; Go's own cache makes a second build quick."""
    go = shutil.which("go")
    if go is None:
        raise BuildError("there is no `go` on PATH: install Go 1.26 or later (https://go.dev/dl/)")
    built = cache_folder() / "bench-clientgo"
    built.parent.mkdir(parents=True, exist_ok=True)
    command = [go, "build", "-mod=readonly", "-trimpath", "-o", str(built), "."]
    subprocess.run(command, cwd=CLIENTGO, check=True, timeout=1800)
    return built


def measure(command: list[str], pods: int, into: Measured) -> None:
    """Run a contender once."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(command)} ended without a word: run it to see why")
        report = json.loads(line)
        if report["pods"] < pods or report["nodes"] < NODES:
            raise RuntimeError(f"{command[0]} has only {report}")
        time.sleep(SETTLE_S)
        into.synced_s.append(report["synced_s"])
        into.resident_mib.append(memory_mib(process.pid, "VmRSS"))
        into.peak_mib.append(memory_mib(process.pid, "VmHWM"))
        into.processor_s.append(processor_s(process.pid))
        process.communicate(timeout=SYNC_LIMIT_S)


def memory_mib(pid: int, name: str) -> float:
    """A line of /proc/PID/status, which is in kB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/{pid}/status has no {name}")


def processor_s(pid: int) -> float:
    """User and system time so far; the fields after the program's name in parentheses."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def figures(measured: dict[str, Measured]) -> Iterator[Figure]:
    """Ours against each of client-go's."""
    ours = measured[OURS]
    for name, target in ((WHOLE, at_most(1.5, "ratio")), (STRIPPED, None)):
        theirs = measured[name]
        yield Figure(
            "time to synced",
            median(ours.synced_s),
            "s",
            median(theirs.synced_s),
            name,
            target=target,
        )
        spent, theirs_spent = median(ours.processor_s), median(theirs.processor_s)
        yield Figure("processor time, start included", spent, "s", theirs_spent, name)
    for name, target in ((WHOLE, None), (STRIPPED, at_most(1.0, "ratio"))):
        theirs = measured[name]
        mib, their_mib = median(ours.resident_mib), median(theirs.resident_mib)
        yield Figure("memory", mib, "MiB", their_mib, name, target=target)
        mib, their_mib = median(ours.peak_mib), median(theirs.peak_mib)
        yield Figure("memory at its peak", mib, "MiB", their_mib, name)


if __name__ == "__main__":
    main()
