"""The load generator of `load/`, built when its sources change; and on which cores things run.

Many connections, each of which asks again as soon as it has its answer; and a gRPC server that
answers at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.realparts import gobuild

METHOD = "/gpupods.v1alpha1.GpuPodsService/GetGpuPods"

_SOURCES = Path(__file__).with_name("load")
_BUILD_TIMEOUT_S = 600
_SLACK_S = 60


@dataclass(frozen=True, slots=True)
class Load:
    """What came of asking for a while."""

    per_second: float
    latencies_s: Sequence[float]
    """Of each answer, ascending."""
    answer_bytes: int


def build() -> Path:
    """The program, built first where the cache has none of these sources.

    Raises:
        gobuild.BuildError: Go is missing or refused something.
    """
    digest = hashlib.sha256()
    for source in sorted(_SOURCES.iterdir()):
        digest.update(source.read_bytes())
    kept = gobuild.cache_folder() / f"bench-load-{digest.hexdigest()[:12]}"
    with gobuild._one_at_a_time(kept):
        if not kept.exists():
            _build(kept)
    return kept


def _build(kept: Path) -> None:
    unfinished = kept.with_suffix(".unfinished")
    done = subprocess.run(
        [gobuild._go(), "build", "-mod=readonly", "-trimpath", "-o", unfinished, "."],
        cwd=_SOURCES,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_BUILD_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise gobuild.BuildError(f"go build of {_SOURCES} failed:\n{done.stdout[-3000:]}")
    unfinished.rename(kept)


@contextmanager
def on_cores(chosen: set[int]) -> Iterator[None]:
    """Children that are started meanwhile stay on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, chosen)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True, slots=True)
class Server:
    """Something that listens."""

    at: str
    """HOST:PORT."""
    pid: int


@contextmanager
def printing_address(command: Sequence[str]) -> Iterator[Server]:
    """Start a server that prints where it listens; it is killed in the end."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield Server(server.stdout.readline().strip(), server.pid)
        finally:
            server.kill()


@dataclass(frozen=True, slots=True)
class Loader:
    """Asks over as many connections as there are ``callers``; a caller keeps its own."""

    program: Path
    callers: int
    seconds: float

    def grpc(self, at: str, method: str, request: Path) -> Load:
        """Call ``method`` with the bytes of ``request``."""
        return self._ask(at, "-method", method, "-message", str(request))

    def http(self, at: str, path: str) -> Load:
        """GET ``path``."""
        return self._ask(at, "-path", path)

    def _ask(self, at: str, *what: str) -> Load:
        done = subprocess.run(
            [
                *(self.program, "-at", at, "-for", f"{self.seconds}s"),
                *("-callers", str(self.callers), *what),
            ],
            stdout=subprocess.PIPE,
            timeout=self.seconds + _SLACK_S,
            check=True,
        )
        told = json.loads(done.stdout)
        if told["errors"]:
            raise RuntimeError(f"{told['errors']} of {self.callers} failed: {told['error']}")
        micros = told["micros"]
        return Load(len(micros) / told["seconds"], [each / 1e6 for each in micros], told["bytes"])


def answering(program: Path, answer: Path) -> AbstractContextManager[Server]:
    """A gRPC server that answers every call at once with the bytes of ``answer``."""
    return printing_address([str(program), "-serve", "-message", str(answer)])
