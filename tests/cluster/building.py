"""The product's images, built by docker/build.sh with buildah and kept as archives.

An archive is made again when something that goes into the images changes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final, Protocol

from tests.realparts import gobuild

PARTS: Final = ("controller", "nodeagent")
BASE: Final = "localhost/base"
_REPOSITORY: Final = "localhost/gpupods-cluster"
_ROOT: Final = Path(__file__).parents[2]
_SOURCES: Final = (
    "docker",
    "requirements",
    "protos",
    "gpupods",
    "nodeagent",
    "controller",
    "simulator",
)
_FILES: Final = ("pyproject.toml", "build_stubs.py", ".dockerignore", "README.md", "LICENSE")
_KEPT: Final = 2
_TIMEOUT_S: Final = 1800.0


class Builder(Protocol):
    """The parts that are needed here; debootstrap is found on PATH."""

    @property
    def buildah(self) -> Path: ...


class ImageError(RuntimeError):
    """An image could not be built; the message has the end of the output."""


def version() -> str:
    """The package's, which is the images' tag."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def image(part: str) -> str:
    """The name of a part's image."""
    return f"localhost/gpupods-{part}:{version()}"


def archives(parts: Builder) -> dict[str, Path]:
    """Part -> the docker archive of its image, built first where there is none of this state."""
    folder = gobuild.cache_folder() / "images"
    folder.mkdir(parents=True, exist_ok=True)
    key = _key()
    found = {part: folder / f"{part}-{key}.tar" for part in PARTS}
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all(archive.exists() for archive in found.values()):
            _build(parts, found)
    return found


def _build(parts: Builder, into: dict[str, Path]) -> None:
    print("building the images", file=sys.stderr, flush=True)
    # Under a name of its own: somebody may be building the same images for himself.
    environment = {
        "BUILDER": "buildah",
        "BASE_IMAGE": BASE,
        "BUILD_OPTIONS": "--isolation chroot",
        "REPOSITORY": _REPOSITORY,
    }
    _run(["docker/localbase.sh"], {})
    _run(["docker/build.sh", *PARTS], environment)
    for part, archive in into.items():
        # Others may be about to use those of a moment ago.
        old = sorted(archive.parent.glob(f"{part}-*.tar"), key=lambda each: each.stat().st_mtime)
        for each in old[:-_KEPT]:
            each.unlink()
        # The Dockerfile's format: OCI's has no HEALTHCHECK.
        unfinished = archive.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        target = f"docker-archive:{unfinished}:{image(part)}"
        built = f"{_REPOSITORY}/gpupods-{part}:{version()}"
        _run([parts.buildah, "push", "--quiet", built, target], {})
        unfinished.rename(archive)


def _run(argv: list[str | Path], environment: dict[str, str]) -> None:
    done = subprocess.run(
        argv,
        cwd=_ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        command = " ".join(map(str, argv))
        raise ImageError(f"{command} ended with {done.returncode}:\n{done.stdout[-3000:]}")


def _key() -> str:
    """Of everything that goes into the images, and of nothing else."""
    digest = hashlib.sha256()
    trees = [path for name in _SOURCES for path in (_ROOT / name).rglob("*")]
    for path in sorted([*trees, *(_ROOT / name for name in _FILES)]):
        if path.is_file() and "__pycache__" not in path.parts and "_pb2" not in path.name:
            digest.update(f"{path.relative_to(_ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
