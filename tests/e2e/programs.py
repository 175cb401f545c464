"""Our console scripts as real child processes, with what a test needs to know of them.

They are found beside the interpreter that runs the tests, as `pip install` put them there.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.realparts import proctree
from tests.realparts.processes import Supervisor, wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.realparts.processes import Child

_ENDS_IN_S = 30.0


def console_script(name: str) -> Path:
    """Where the console script `name` is installed."""
    return Path(sys.executable).with_name(name)


@dataclass(frozen=True)
class Ended:
    """A program that has run to its end."""

    code: int
    stdout: str
    stderr: str


def run_script(
    name: str, *arguments: str, env: Mapping[str, str] | None = None, timeout_s: float = _ENDS_IN_S
) -> Ended:
    """Run a console script to its end; `env` is added to the environment."""
    done = subprocess.run(
        [console_script(name), *arguments],
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


class Server:
    """One of our servers while it runs, and after."""

    def __init__(self, supervisor: Supervisor, child: Child) -> None:
        self._supervisor = supervisor
        self._child = child

    @property
    def name(self) -> str:
        return self._child.name

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def alive(self) -> bool:
        return self._child.process.poll() is None

    def children(self) -> tuple[int, ...]:
        """The pids of every process below the server's own."""
        return proctree.descendants(self.pid)[1:]

    def logged(self, event: str) -> dict[str, Any] | None:
        """The first line of the log that tells `event`."""
        return next((line for line in _lines(self._child.log) if line.get("event") == event), None)

    def log(self) -> str:
        return self._child.log.read_text(errors="replace")

    def send(self, number: signal.Signals) -> None:
        self._child.process.send_signal(number)

    def exit_code(self) -> int:
        """Wait for its end."""
        return self._child.process.wait(_ENDS_IN_S)

    def kill(self) -> None:
        """SIGKILL to the server alone; returns when it has ended."""
        self.send(signal.SIGKILL)
        self.exit_code()

    def kill_children(self) -> None:
        """SIGKILL to every process below the server's own."""
        for pid in self.children():
            os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """End it with all that is in its process group."""
        self._supervisor.stop(self._child)


class Agent(Server):
    """`gpupods-nodeagent`."""

    @property
    def address(self) -> str:
        """Where it serves gRPC."""
        return _address(self, "node agent serves", "grpc")

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])


class Controller(Server):
    """`gpupods-controller`."""

    @property
    def grpc(self) -> str:
        return _address(self, "controller listens", "grpc")

    @property
    def http(self) -> str:
        return _address(self, "controller listens", "http")


class Programs:
    """Starts servers, and ends at the end what still runs of them."""

    def __init__(self) -> None:
        self._supervisor = Supervisor()
        self._numbers = itertools.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._supervisor.close()

    def folder(self, name: str) -> Path:
        """A new folder, removed at the end."""
        folder = self._supervisor.folder / f"{name}-{next(self._numbers)}"
        folder.mkdir()
        return folder

    def agent(self, *flags: str, env: Mapping[str, str] | None = None) -> Agent:
        """Start a node agent; returns when it serves. It remembers nothing of another one."""
        state = ("--state-dir", str(self.folder("state")))
        return Agent(
            self._supervisor,
            self._start("gpupods-nodeagent", (*state, *flags), "node agent serves", env),
        )

    def controller(
        self, *flags: str, ready: str = "ready", env: Mapping[str, str] | None = None
    ) -> Controller:
        """Start a controller; returns when its log tells the event `ready`."""
        return Controller(self._supervisor, self._start("gpupods-controller", flags, ready, env))

    def _start(
        self, script: str, flags: Sequence[str], event: str, env: Mapping[str, str] | None
    ) -> Child:
        name = f"{script}-{next(self._numbers)}"
        log = self._supervisor.folder / f"{name}.log"
        return self._supervisor.start(
            name,
            [console_script(script), "--log-format", "json", *flags],
            ready=lambda: any(line.get("event") == event for line in _lines(log)),
            env=env,
        )


def wait_until_gone(pids: Sequence[int]) -> None:
    """Wait until none of the processes is left."""
    wait_until(
        lambda: not any(map(proctree.alive, pids)), what=f"the end of {pids}", deadline_s=_ENDS_IN_S
    )


def _lines(log: Path) -> list[dict[str, Any]]:
    """The log's lines that are JSON objects; a line that is being written is none yet."""
    read = []
    for line in log.read_text(errors="replace").splitlines():
        try:
            decoded = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(decoded, dict):
            read.append(decoded)
    return read


def _address(server: Server, event: str, key: str) -> str:
    line = server.logged(event)
    assert line is not None, f"{event!r} was not logged:\n{server.log()}"
    return str(line[key])
