"""What the text of /proc/<pid>/cgroup tells of a process's container. Pure.

Knows how runtimes name cgroups, not which containers there are: whether a candidate is one of
the node's is decided in `nodeagent.containers.decide`. The shapes, an example of each, are in
tests/golden/proc.

Sources: the kubelet's pkg/kubelet/cm (kubepods and pod names under both drivers), containerd's
and CRI-O's container names under both drivers, cgroups(7) for the file and its "/..".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from gpupods.identity import ContainerId, PodUid

NO_POD = PodUid("")

_CONTAINER = re.compile(r"(?:(?P<before>.*)(?P<joint>[-_:]))?(?P<id>[0-9a-f]{64})(?:\.scope)?")
"""A path segment that ends in a container's id: bare, crio-<id>, ...:cri-containerd:<id>."""

_POD = re.compile(
    r"(?:(?:.*-)?kubepods(?:-burstable|-besteffort)?-)?pod"
    r"(?P<uid>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice|$)"
)
"""A path segment of a pod. A static pod's uid has no dashes; systemd's slices have _ for -, and
before kubepods the names of the slices they are in."""

_PODS = re.compile(r"(?:.*-)?kubepods(?:$|-|\.slice)")
"""A path segment that holds pods."""

_RUNTIMES = {
    "cri-containerd": "containerd",
    "k8s.io": "containerd",
    "crio": "CRI-O",
    "docker": "Docker",
    "libpod": "Podman",
    "libpod-payload": "Podman",
    "libpod_parent": "Podman",
    "nerdctl": "nerdctl",
}
"""Runtimes by what stands before the id in its segment, or by the folder the segment is in."""

NOT_FOR_KUBERNETES = frozenset({"Docker", "Podman", "nerdctl"})
"""Runtimes whose containers are no pod's, unless their path names a pod."""

_MONITORS = ("crio-conmon", "libpod-conmon")
"""Before an id: the process that watches a container from outside, and is not in it."""

_DELETED = " (deleted)"
"""Behind the path of a v2 cgroup that has been removed under a process that is ending."""

_KEPT = 512
"""Readings, of the texts read last: a process is asked about again and again, and its text is
nearly always the same."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A container that a path names."""

    id: ContainerId
    runtime: str = ""
    """For people; empty where the path does not tell."""
    pod_uid: PodUid = NO_POD
    """Of the pod whose folder the container is in, or empty. No uid of an outer pod."""


@dataclass(frozen=True, slots=True)
class CgroupReading:
    """What one process's cgroup file tells.

    There are candidates, or it is a host process, or the file does not decide.
    """

    path: str
    """The path that says most, for people; empty if there was none to be read."""
    candidates: tuple[Candidate, ...] = ()
    """The innermost first: where containers hold containers, the last in the path is meant."""
    is_host: bool = False
    """It is somewhere outside all containers."""
    pod_uid: PodUid = NO_POD
    """Of the innermost pod in the path, also where no container is named."""

    @property
    def likeliest(self) -> Candidate | None:
        """The container to believe in when no runtime can be asked.

        It is the one directly in the innermost pod, because a container inside that one is not
        the kubelet's; without a pod, the innermost of all.
        """
        of_pods = [each for each in self.candidates if each.pod_uid]
        return next(iter(of_pods or self.candidates), None)


UNREADABLE = CgroupReading(path="")


@functools.lru_cache(maxsize=_KEPT)
def read_cgroup(text: str | None) -> CgroupReading:
    """Read the text of /proc/<pid>/cgroup; None stands for one that could not be read.

    v1 has a line for each controller, v2 one, a hybrid both; a process may be in its container
    in some of them only, so the path that names the most containers counts. Never raises.
    """
    readings = [_read_path(path) for path in dict.fromkeys(_paths(text or ""))]
    return max(readings, key=_telling, default=UNREADABLE)


def _telling(reading: CgroupReading) -> tuple[int, int, int]:
    """A sort key: a named container, then a pod, then a place outside, then nothing."""
    in_pods = _in_pods(reading.path.split("/"))
    return (len(reading.candidates), int(in_pods), int(reading.is_host))


def _paths(text: str) -> Iterable[str]:
    """The third field of each line; lines of another form are no cgroups."""
    for line in text.split("\n"):
        hierarchy, _, rest = line.partition(":")
        _, separator, path = rest.partition(":")
        if separator and hierarchy.isdecimal() and path.startswith("/"):
            yield path.removesuffix(_DELETED)


def _read_path(path: str) -> CgroupReading:
    segments = [each for each in path.split("/") if each not in ("", "..")]
    candidates, pod_uid = _containers(segments)
    outside = bool(segments) and not candidates and not _in_pods(segments)
    is_host = outside or (not candidates and _is_monitor(segments[-1:]))
    return CgroupReading(path, candidates, is_host, pod_uid)


def _containers(segments: list[str]) -> tuple[tuple[Candidate, ...], PodUid]:
    """The containers that the segments name, innermost first, and the innermost pod's uid."""
    found: list[Candidate] = []
    pod_uid = direct_pod = NO_POD
    folder = ""
    for segment in segments:
        if pod := _POD.match(segment):
            pod_uid = direct_pod = PodUid(pod["uid"].replace("_", "-"))
        if (container := _CONTAINER.fullmatch(segment)) and container["before"] not in _MONITORS:
            runtime = _runtime(container["before"] or "", container["joint"] or "", folder)
            found.append(Candidate(ContainerId(container["id"]), runtime, direct_pod))
            direct_pod = NO_POD
        folder = segment
    return tuple(reversed(found)), pod_uid


def _runtime(before: str, joint: str, folder: str) -> str:
    """The runtime that names its containers so."""
    if not joint:
        return _RUNTIMES.get(folder, "")
    # Drivers that disagree: "kubepods-...-pod<uid>.slice:cri-containerd:<id>".
    return _RUNTIMES.get(before.rpartition(":")[2] if joint == ":" else before, "")


def _in_pods(segments: Iterable[str]) -> bool:
    return any(_PODS.match(each) or _POD.match(each) for each in segments)


def _is_monitor(last: list[str]) -> bool:
    return any(segment.startswith(tuple(f"{each}-" for each in _MONITORS)) for segment in last)
