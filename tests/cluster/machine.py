"""A machine of the cluster: namespaces and a cgroup of its own on this one, with real paths in it.

What runs in it sees its own network, its own hostname, its cgroup as the root, and its own
/run, /var/lib/kubelet and so on. Pids are this host's.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.realparts.processes import Child, PartFailedError, Supervisor

_SCRIPTS = Path(__file__).parent
_BOOTS_IN_S = 60.0
_RUN_TIMEOUT_S = 120.0

OWN = (
    "/run",
    "/etc/cni/net.d",
    "/etc/kubernetes",
    "/var/lib/cni",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/gpupods",
    "/var/lib/kubelet",
    "/var/log",
)
"""The folders that each machine has for itself. Other files of /etc and /var can be written,
and the host's stay as they are; the rest is the host's."""


class Machine:
    """A machine from `boot` to `end`. `folder` holds its files, `cgroup` its processes."""

    def __init__(self, supervisor: Supervisor, name: str) -> None:
        self.name = name
        self.folder = supervisor.folder / name
        self.cgroup = f"/{supervisor.folder.name}/{name}"
        self._supervisor = supervisor
        self._first: int | None = None
        for path in OWN:
            self.path(path).mkdir(parents=True)
            (self.path(path) / ".mount").touch()

    def boot(self) -> None:
        """Start it, without a network."""
        child = self._supervisor.start(
            self.name,
            ["sh", _SCRIPTS / "boot.sh", self.folder, self.cgroup, self.name],
            ready=(self.folder / "booted").exists,
            deadline_s=_BOOTS_IN_S,
        )
        self._first = child.pid

    @property
    def pid(self) -> int:
        """A process of it that does nothing, and whose namespaces are the machine's."""
        if self._first is None:
            raise PartFailedError(f"{self.name} is not running: boot() it first")
        return self._first

    def path(self, inside: str) -> Path:
        """Where this host finds what the machine finds at `inside`, a path under one of OWN."""
        return self.folder / "own" / inside.lstrip("/")

    def words(self, *argv: str | Path) -> list[str | Path]:
        """The command that runs `argv` in the machine."""
        return ["sh", _SCRIPTS / "enter.sh", self.cgroup, str(self.pid), *argv]

    def start(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        ready: Callable[[], bool],
        env: Mapping[str, str] | None = None,
        deadline_s: float = 120.0,
    ) -> Child:
        """Start a program in it and wait until `ready()`; its log is beside the machine's folder.

        Raises PartFailedError, with the end of the log.
        """
        return self._supervisor.start(
            f"{self.name}-{name}",
            self.words(*argv),
            ready=ready,
            env=env,
            deadline_s=deadline_s,
        )

    def stop(self, child: Child) -> None:
        """End a program that `start` has started; returns when it has ended."""
        self._supervisor.stop(child)

    def run(self, *argv: str | Path, stdin: str | None = None) -> str:
        """What a command prints in it. Raises PartFailedError with its stderr when it fails."""
        done = subprocess.run(
            self.words(*argv),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_RUN_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            command = " ".join(map(str, argv))
            raise PartFailedError(f"{command} on {self.name} failed: {done.stderr.strip()}")
        return done.stdout
