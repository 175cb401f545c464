"""The OCI description of a test container: a busybox that only waits, as several processes.

Pure: from a tree of processes to the JSON that runc reads. How it is run is in `containerd`.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# A process is the tuple of its children: () waits alone, ((), ((),)) has two
# children, the second of which has one of its own.
ProcessTree = tuple["ProcessTree", ...]

ALONE: Final[ProcessTree] = ()
NESTED: Final[ProcessTree] = ((), ((),))

_FOR_EVER = 2_000_000_000


def count(tree: ProcessTree) -> int:
    """How many processes the tree has, its root among them."""
    return 1 + sum(count(child) for child in tree)


def shell_script(tree: ProcessTree) -> str:
    """The script whose shell and subshells are the processes of `tree`.

    Each inner process is a shell that waits for its children; a leaf becomes sleep.
    """
    if not tree:
        return f"exec sleep {_FOR_EVER}"
    children = " ".join(f"({shell_script(child)}) &" for child in tree)
    return f"{children} wait"


def make_rootfs(folder: Path, busybox: Path) -> None:
    """Make `folder` a root file system with busybox as its shell."""
    for name in ("bin", "proc", "dev", "sys", "tmp"):
        (folder / name).mkdir(parents=True)
    shutil.copy(busybox, folder / "bin" / "busybox")
    for applet in ("sh", "sleep"):
        (folder / "bin" / applet).symlink_to("busybox")


def spec(
    rootfs: Path, tree: ProcessTree, *, cgroup: str, annotations: Mapping[str, str]
) -> dict[str, Any]:
    """The container's config.json. It shares the host's network, as hostNetwork pods do."""
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": ["/bin/sh", "-c", shell_script(tree)],
            "env": ["PATH=/bin"],
            "cwd": "/",
            "noNewPrivileges": True,
        },
        "root": {"path": str(rootfs), "readonly": True},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]},
        ],
        "annotations": dict(annotations),
        "linux": {
            "cgroupsPath": cgroup,
            "namespaces": [{"type": name} for name in ("pid", "ipc", "uts", "mount")],
        },
    }
