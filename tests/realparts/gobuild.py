"""Programs built from pinned Go modules, kept in a cache.

Each folder under `go/` is a module of its own, because the versions that the
programs need clash. A program is built again when its module files, its linker
settings or the Go release change: all of them are in the name it is kept under.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODULES = Path(__file__).with_name("go")
_BUILD_TIMEOUT_S = 3600


@dataclass(frozen=True)
class Program:
    """A main package of a module under `go/`.

    `set_variables` are linker settings (`-X`), in which {version}, {major} and
    {minor} stand for the pinned version of the module `version_of`.
    """

    folder: str
    package: str
    version_of: str
    set_variables: tuple[str, ...]


class BuildError(RuntimeError):
    """Go is missing or the build failed; the message has the end of its output."""


def ensure(program: Program) -> Path:
    """The path of the program, built first where the cache has none of this pin."""
    go = _go()
    kept = cache_folder() / f"{_name(program)}-{_key(program, go)}"
    with _one_at_a_time(kept):
        if not kept.exists():
            _build(program, go, kept)
    return kept


def cache_folder() -> Path:
    """GPUPODS_PARTS_DIR, else gpupods/realparts in the user's cache folder."""
    chosen = os.environ.get("GPUPODS_PARTS_DIR")
    if chosen:
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "gpupods" / "realparts"


def _go() -> str:
    go = shutil.which("go")
    if go is None:
        raise BuildError("there is no `go` on PATH: install Go 1.26 or later (https://go.dev/dl/)")
    return go


def _name(program: Program) -> str:
    return program.package.rsplit("/", 1)[-1]


def _key(program: Program, go: str) -> str:
    module = _MODULES / program.folder
    release = subprocess.run(
        [go, "version"], capture_output=True, cwd=module, timeout=300, check=True
    ).stdout
    digest = hashlib.sha256(release)
    digest.update((module / "go.mod").read_bytes())
    digest.update((module / "go.sum").read_bytes())
    digest.update("\n".join(_linker_settings(program)).encode())
    return digest.hexdigest()[:12]


def _linker_settings(program: Program) -> list[str]:
    version = _pinned_version(program)
    major, minor = version.removeprefix("v").split(".")[:2]
    return [
        setting.format(version=version, major=major, minor=minor)
        for setting in program.set_variables
    ]


def _pinned_version(program: Program) -> str:
    go_mod = _MODULES / program.folder / "go.mod"
    pin = re.search(
        rf"^\s*(?:require )?{re.escape(program.version_of)} (v\S+)",
        go_mod.read_text(),
        re.MULTILINE,
    )
    if pin is None:
        raise BuildError(f"{go_mod} pins no version of {program.version_of}: run `go mod tidy`")
    return pin.group(1)


@contextmanager
def _one_at_a_time(kept: Path) -> Iterator[None]:
    """Hold a lock, so that two runs do not build the same program at once."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(program: Program, go: str, kept: Path) -> None:
    print(
        f"building {_name(program)} {_pinned_version(program)} "
        "(kube-apiserver takes minutes the first time)",
        file=sys.stderr,
        flush=True,
    )
    started = time.monotonic()
    unfinished = kept.with_suffix(".unfinished")
    linker = " ".join(["-s", "-w", *(f"-X {setting}" for setting in _linker_settings(program))])
    done = subprocess.run(
        [
            go,
            "build",
            "-mod=readonly",
            "-trimpath",
            "-ldflags",
            linker,
            "-o",
            unfinished,
            program.package,
        ],
        cwd=_MODULES / program.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_BUILD_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(f"go build {program.package} failed:\n{done.stdout[-3000:]}")
    unfinished.rename(kept)
    print(f"built {kept} in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
