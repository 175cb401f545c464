"""Programs from Debian packages: found where they are, installed where they are not.

Installs only what is missing, and starts no service: a policy file forbids it while
the packages are being set up, whatever init system the machine has.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Daemons live in sbin, which is not on every user's PATH; CNI plugins are on nobody's.
_SEARCH_PATH = os.pathsep.join(
    [os.environ.get("PATH", ""), "/usr/sbin", "/sbin", "/usr/bin", "/usr/lib/cni"]
)
_POLICY = Path("/usr/sbin/policy-rc.d")
_APT_TIMEOUT_S = 600


@dataclass(frozen=True)
class Program:
    """A program and the Debian package that has it."""

    package: str
    program: str


class InstallError(RuntimeError):
    """apt-get failed, or the package does not hold the program."""


def ensure(programs: Mapping[str, Program]) -> dict[str, Path]:
    """Name -> path of every program, after installing the packages that are missing."""
    missing = sorted({p.package for p in programs.values() if _find(p) is None})
    if missing:
        _install(missing)
    return {name: _must_find(program) for name, program in programs.items()}


def _find(program: Program) -> Path | None:
    found = shutil.which(program.program, path=_SEARCH_PATH)
    return Path(found) if found else None


def _must_find(program: Program) -> Path:
    found = _find(program)
    if found is None:
        raise InstallError(
            f"{program.program} is not on {_SEARCH_PATH} although {program.package} is installed: "
            f"look at `dpkg -L {program.package}`"
        )
    return found


def _install(packages: list[str]) -> None:
    names = " ".join(packages)
    if os.geteuid() != 0:
        raise InstallError(f"missing: {names}. Run as root, or: sudo apt-get install {names}")
    if shutil.which("apt-get") is None:
        raise InstallError(f"missing: {names}. There is no apt-get here: install them by hand")
    print(f"installing {names}", file=sys.stderr, flush=True)
    with _services_stay_down():
        _apt("update", "-qq")
        _apt("install", "-y", "-qq", "--no-install-recommends", *packages)


@contextmanager
def _services_stay_down() -> Iterator[None]:
    """Answer invoke-rc.d with "forbidden" (101), unless the machine has a policy already."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()


def _apt(*arguments: str) -> None:
    done = subprocess.run(
        ["apt-get", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_APT_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        command = " ".join(arguments)
        raise InstallError(
            f"apt-get {command} ended with {done.returncode}:\n{done.stdout[-2000:]}"
        )
