"""The containers of the cluster's pods and their processes, found from outside.

From two sources that gpupods has no part in: which container is whose, the API server says;
which process is in which container, this host's /proc.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.realparts import ocispec, proctree
from tests.realparts.containerd import Container
from tests.realparts.objects import PodIdentity

if TYPE_CHECKING:
    from tests.cluster.node import Node

Json = dict[str, Any]

_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_PREFIX = "containerd://"


def running_in(pod: Json) -> Iterator[tuple[str, str]]:
    """Name and id of each container of a pod that runs now."""
    for field in _STATUSES:
        for status in pod["status"].get(field, ()):
            if "running" in status["state"]:
                yield status["name"], status["containerID"].removeprefix(_PREFIX)


def of_pod(pod: Json, processes: dict[str, list[int]]) -> list[Container]:
    """The pod's running containers, each with its processes; see `processes_on`."""
    identity = PodIdentity.of(pod)
    return [
        Container(
            id=container_id,
            pod=identity,
            name=name,
            kind="container",
            cgroup=_cgroup(processes[container_id][0]),
            pids=tuple(processes[container_id]),
        )
        for name, container_id in running_in(pod)
        if container_id in processes
    ]


def settled(container_id: str, processes: dict[str, list[int]]) -> bool:
    """Whether the container has all the processes of `workloads.PROCESSES`, as they will be."""
    pids = processes.get(container_id, [])
    if len(pids) != ocispec.count(ocispec.NESTED):
        return False
    leaves = [pid for pid in pids if len(proctree.descendants(pid)) == 1]
    return all(name(pid) == "sleep" for pid in leaves)


def processes_on(node: Node) -> dict[str, list[int]]:
    """Container id -> pids, parents before children, of every container on the node."""
    found: dict[str, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            path = _cgroup(int(entry.name))
            if path.startswith(f"{node.machine.cgroup}/"):
                found[path.rpartition("/")[2]].append(int(entry.name))
    return {container_id: _ordered(pids) for container_id, pids in found.items()}


def name(pid: int) -> str:
    """The process's name, as the kernel has it; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _ordered(pids: list[int]) -> list[int]:
    """Those of one container: its first process first, then its children by age."""
    first = [pid for pid in pids if proctree.parent(pid) not in pids]
    return [each for pid in sorted(first) for each in proctree.descendants(pid)]


def _cgroup(pid: int) -> str:
    """The process's path in the v1 tree of the pids controller; empty if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if "pids" in controllers.split(","):
            return path
    return lines[0].split(":", 2)[2] if lines else ""
