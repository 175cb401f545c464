"""containerd roots that hold images already, made once and given to nodes as hard links.

Importing an image writes thousands of files. Layers are never changed once they are
there, so that nodes, and one run after the other, can share them.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.cluster import runtime
from tests.realparts import gobuild
from tests.realparts.processes import PartFailedError, Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_KEPT: Final = 4
_TIMEOUT_S: Final = 600.0


def fill(root: Path, containerd: runtime.Containerd, archives: Sequence[Path]) -> None:
    """Make the empty folder `root` the root of a containerd that has these archives' images."""
    with _one_at_a_time():
        store = _folder() / _key(containerd, archives)
        if not store.exists():
            _make(store, containerd, archives)
        _link(store, root)


def _make(store: Path, containerd: runtime.Containerd, archives: Sequence[Path]) -> None:
    unfinished = store.with_name("unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    if others := _by_age(f"{store.name.partition('-')[0]}-*"):
        # Most layers are those of before.
        _link(others[-1], unfinished)
    with Supervisor() as supervisor:
        config, socket = supervisor.folder / "config.toml", supervisor.folder / "containerd.sock"
        config.write_text(containerd.config(cni=Path("/nowhere"), opt=f"{supervisor.folder}/opt"))
        where = (
            f"--address={socket}",
            f"--root={unfinished}",
            f"--state={supervisor.folder}/state",
        )
        supervisor.start(
            "containerd",
            [containerd.program, f"--config={config}", *where],
            ready=lambda: containerd.answers(socket),
            env=containerd.environment(),
        )
        for archive in archives:
            containerd.ctr(socket, "images", "import", str(archive))
        if stale := _without_name(containerd.ctr(socket, "images", "ls")):
            containerd.ctr(socket, "images", "rm", "--sync", *stale)
    unfinished.touch()
    unfinished.rename(store)
    for old in _by_age("*-*")[:-_KEPT]:
        shutil.rmtree(old)


def _by_age(pattern: str) -> list[Path]:
    """The stores, the newest last."""
    return sorted(_folder().glob(pattern), key=lambda each: each.stat().st_mtime)


def _without_name(listed: str) -> list[str]:
    """The images that go by a digest alone, in what `ctr images ls` prints: those of before."""
    # Reference, type, digest, and more.
    images = [line.split()[:3] for line in listed.splitlines()[1:]]
    named = {digest for reference, _, digest in images if not reference.startswith("sha256:")}
    return [reference for reference, _, digest in images if digest not in named]


def _link(store: Path, root: Path) -> None:
    """Share all but the databases, which are the only files that are ever changed."""
    done = _copy("--link", store, root)
    if done.returncode != 0:
        # The cache is on another file system.
        done = _copy("--reflink=auto", store, root)
    if done.returncode != 0:
        raise PartFailedError(f"the images were not copied to {root}: {done.stderr.strip()}")
    for database in root.rglob("*.db"):
        database.unlink()
        shutil.copy2(store / database.relative_to(root), database)


def _copy(how: str, store: Path, root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["cp", "--archive", "--force", how, f"{store}/.", root],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )


def _key(containerd: runtime.Containerd, archives: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for archive in archives:
        with archive.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    version = subprocess.run(
        [containerd.program, "--version"], capture_output=True, timeout=_TIMEOUT_S, check=True
    ).stdout
    return f"{hashlib.sha256(version).hexdigest()[:8]}-{digest.hexdigest()[:12]}"


def _folder() -> Path:
    return gobuild.cache_folder() / "imagestores"


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """No store is made twice, or removed while it is copied."""
    _folder().mkdir(parents=True, exist_ok=True)
    with (_folder() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
