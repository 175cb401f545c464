"""Runs the product's images as their pods would be: read-only, no capabilities, not root.

Podman, because it needs no daemon and knows HEALTHCHECK; runc, because Debian's crun refuses
machines with both kinds of cgroups.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, Final, Self

from tests.realparts.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TIMEOUT_S: Final = 120
_GLOBAL: Final = ("--runtime=runc", "--cgroup-manager=cgroupfs")
# The limits: without CAP_SYS_RESOURCE nobody can raise those that podman would set.
_AS_A_POD: Final = (
    "--ulimit=nofile=1024:1024",
    "--ulimit=nproc=16384:16384",
    # Podman's own run of it wants systemd; `healthcheck` runs it here.
    "--no-healthcheck",
    "--read-only",
    "--read-only-tmpfs=false",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
)


class PodmanError(RuntimeError):
    """Podman failed, or the program in the container did; the message has its stderr."""


class Podman:
    """One podman; the containers that it started are gone at the end."""

    def __init__(self, program: Path) -> None:
        self._program = program
        self._started: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for container in self._started:
            self.run("rm", "--force", "--time=0", container)

    def load(self, archive: Path) -> None:
        self.run("load", "--quiet", "--input", str(archive))

    def image(self, name: str) -> dict[str, Any]:
        """What is known of an image."""
        described: dict[str, Any] = json.loads(self.run("image", "inspect", name))[0]
        return described

    def output(self, image: str, *arguments: str, entrypoint: str | None = None) -> str:
        """What a container of the image prints until it ends."""
        entry = [] if entrypoint is None else [f"--entrypoint={entrypoint}"]
        return self.run("run", "--rm", "--network=none", *_AS_A_POD, *entry, image, *arguments)

    def start(
        self, image: str, *arguments: str, options: tuple[str, ...], env: Mapping[str, str]
    ) -> str:
        """Start a container in the background; its id."""
        variables = [f"--env={name}={value}" for name, value in env.items()]
        words = ("run", "--detach", *_AS_A_POD, *options, *variables, image, *arguments)
        container = self.run(*words).strip()
        self._started.append(container)
        return container

    def logged(self, container: str, event: str) -> dict[str, Any]:
        """The line of the container's log that tells `event`, once it is there."""
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = [line for line in self._log(container) if line.get("event") == event]
            return bool(found)

        wait_until(there, what=f"{event!r} in the log of {container}")
        return found[0]

    def health(self, container: str, image: str) -> None:
        """Run the image's HEALTHCHECK in the container. Raises PodmanError if it fails."""
        kind, *command = self.image(image)["Healthcheck"]["Test"]
        assert kind == "CMD"
        self.run("exec", container, *command)

    def run(self, *arguments: str) -> str:
        """What podman prints. Raises PodmanError."""
        done = subprocess.run(
            [self._program, *_GLOBAL, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            raise PodmanError(f"podman {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def _log(self, container: str) -> list[dict[str, Any]]:
        done = subprocess.run(
            [self._program, *_GLOBAL, "logs", container],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        lines = (done.stdout + done.stderr).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]
