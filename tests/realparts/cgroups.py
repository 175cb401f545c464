"""cgroup paths as Kubernetes writes them, and their removal once they are empty.

The shapes are templates: {uid} is the pod's uid, {uid_} the same with _ for -,
{id} the container's id.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

BURSTABLE: Final = "/kubepods/burstable/pod{uid}/{id}"
BEST_EFFORT: Final = "/kubepods/besteffort/pod{uid}/{id}"
GUARANTEED: Final = "/kubepods/pod{uid}/{id}"
SYSTEMD_BURSTABLE: Final = (
    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid_}.slice"
    "/cri-containerd-{id}.scope"
)
SYSTEMD_GUARANTEED: Final = "/kubepods.slice/kubepods-pod{uid_}.slice/cri-containerd-{id}.scope"
DRIVERS_DISAGREE: Final = (
    "/system.slice/containerd.service/kubepods-burstable-pod{uid_}.slice:cri-containerd:{id}"
)
CRIO: Final = "/kubepods/burstable/pod{uid}/crio-{id}"
DOCKER: Final = "/docker/{id}"

_MOUNT = Path("/sys/fs/cgroup")


def fill(shape: str, *, uid: str, container_id: str) -> str:
    """The path that `shape` stands for."""
    return shape.format(uid=uid, uid_=uid.replace("-", "_"), id=container_id)


def own(shape: str, *, uid: str, container_id: str) -> frozenset[str]:
    """The path and those of its upper folders that no other pod uses."""
    steps = shape.split("/")
    prefixes = ("/".join(steps[:length]) for length in range(1, len(steps) + 1))
    return frozenset(
        fill(prefix, uid=uid, container_id=container_id) for prefix in prefixes if "{" in prefix
    )


def processes(path: str) -> frozenset[int]:
    """The pids in the cgroup `path` and those under it, in every hierarchy."""
    return frozenset(
        int(word)
        for folder in _folders(path)
        for listing in [folder / "cgroup.procs", *folder.rglob("cgroup.procs")]
        for word in _read(listing).split()
    )


def exists(path: str) -> bool:
    """Whether any hierarchy has the cgroup `path`."""
    return bool(_folders(path))


def remove(paths: Iterable[str], *, shared: bool) -> None:
    """Remove the cgroups `paths`, inner ones first, as far as they are empty.

    With `shared` also their upper folders (/kubepods/burstable), which runs have in
    common. A cgroup that has a pod is never empty: a kubelet here loses nothing.
    """
    ours = set(paths)
    if shared:
        ours |= {str(upper) for path in ours for upper in Path(path).parents}
    for path in sorted(ours, reverse=True):
        _remove(path)


def _remove(path: str) -> None:
    if path == "/":
        return
    for folder in _folders(path):
        for inner in sorted(folder.rglob("*/"), reverse=True):
            _remove_if_empty(inner)
        _remove_if_empty(folder)


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        # In use, or gone already: a run that leaves one behind is told by its test.
        return


def hierarchies() -> list[Path]:
    """The root of each mounted tree: the v1 controllers' and the v2 one."""
    if (_MOUNT / "cgroup.controllers").exists():
        return [_MOUNT]
    return [entry for entry in _MOUNT.iterdir() if entry.is_dir() and not entry.is_symlink()]


def _folders(path: str) -> list[Path]:
    inside = path.lstrip("/")
    return [root / inside for root in hierarchies() if (root / inside).is_dir()]


def _read(listing: Path) -> str:
    try:
        return listing.read_text()
    except OSError:
        return ""
