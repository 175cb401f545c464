"""A containerd of our own with real containers, labelled and placed as Kubernetes does.

Its root, state and socket are in a temporary folder, so it meets no other containerd
of the machine. Containers outlive the daemon, as they do on a node: `stop` and `start`
are the daemon's, `close` also ends the containers, without asking the daemon.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from tests.realparts import cgroups, ocispec, proctree, remains
from tests.realparts.processes import PartFailedError, Supervisor, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.realparts.objects import PodIdentity
    from tests.realparts.parts import Parts
    from tests.realparts.processes import Child

Kind = Literal["container", "sandbox"]

NAMESPACE = "k8s.io"
"""The kubelet's. Docker keeps its containers in "moby", nerdctl in "default"."""
_CTR_TIMEOUT_S = 60


@dataclass(frozen=True)
class Request:
    """A container to run. `cgroup` is a shape of `cgroups`; an id is made if none is given.

    `namespace` is containerd's, not Kubernetes'.
    """

    pod: PodIdentity
    name: str
    processes: ocispec.ProcessTree = ocispec.NESTED
    cgroup: str = cgroups.BURSTABLE
    container_id: str = field(default_factory=lambda: secrets.token_hex(32))
    namespace: str = NAMESPACE


@dataclass(frozen=True)
class Container:
    """A container that runs. `pids` are the host's, its first process first."""

    id: str
    pod: PodIdentity
    name: str
    kind: Kind
    cgroup: str
    pids: tuple[int, ...]
    namespace: str = NAMESPACE


class Containerd:
    """One containerd: Debian's, or the one whose programs are in the folder `binaries`."""

    def __init__(self, parts: Parts, *, binaries: Path | None = None) -> None:
        self._containerd = binaries / "containerd" if binaries else parts.containerd
        self._ctr = binaries / "ctr" if binaries else parts.ctr
        # containerd looks for its shim, and the shim for runc, on PATH.
        shim = binaries or parts.containerd_shim.parent
        self._path = os.pathsep.join([str(shim), str(parts.runc.parent), os.environ["PATH"]])
        self._supervisor = Supervisor()
        self._folder = self._supervisor.folder
        self._rootfs = self._folder / "rootfs"
        self._sandboxes: dict[str, str] = {}
        self._daemon: Child | None = None
        self.socket = self._folder / "containerd.sock"
        # Told before there are any, so that no other run removes what they share.
        remains.note_cgroups(self._folder, ())
        ocispec.make_rootfs(self._rootfs, parts.busybox)
        _write_configuration(self._folder, self.socket)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the daemon and wait until it answers."""
        self._daemon = self._supervisor.start(
            "containerd",
            [self._containerd, "--config", self._folder / "config.toml"],
            ready=self._answers,
            env={"PATH": self._path},
        )

    def stop(self) -> None:
        """Stop the daemon. The containers and their shims run on."""
        if self._daemon is not None:
            self._supervisor.stop(self._daemon)
            self._daemon = None

    def restart(self) -> None:
        """Stop and start the daemon; it finds its containers again."""
        self.stop()
        self.start()

    @property
    def pid(self) -> int:
        """The running daemon's pid."""
        if self._daemon is None:
            raise PartFailedError("containerd is stopped: start() it first")
        return self._daemon.pid

    def run_sandbox(self, pod: PodIdentity, *, cgroup: str = cgroups.BURSTABLE) -> Container:
        """Run the pause container of `pod`. Containers run later for it share its shim."""
        container = self._run(Request(pod, "", ocispec.ALONE, cgroup), "sandbox")
        self._sandboxes[pod.uid] = container.id
        return container

    def run_container(
        self,
        pod: PodIdentity,
        name: str,
        *,
        processes: ocispec.ProcessTree = ocispec.NESTED,
        cgroup: str = cgroups.BURSTABLE,
        namespace: str = NAMESPACE,
    ) -> Container:
        """Run one container of `pod` and wait until all its processes are there."""
        request = Request(pod, name, processes, cgroup, namespace=namespace)
        return self._run(request, "container")

    def run_containers(self, requests: Iterable[Request], *, at_once: int = 4) -> list[Container]:
        """Run many containers, `at_once` at a time; in the order of the requests."""
        with ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(lambda request: self._run(request, "container"), requests))

    def kill(self, container: Container, number: int = signal.SIGKILL) -> None:
        """Signal the first process; a stopped task stays in the daemon's list."""
        words = ("task", "kill", "--signal", str(int(number)), container.id)
        self.ctr(*words, namespace=container.namespace)

    def delete_container(self, container: Container) -> None:
        """End the container's processes and make the daemon forget it."""
        self.ctr("task", "rm", "--force", container.id, namespace=container.namespace)
        self.ctr("container", "rm", container.id, namespace=container.namespace)

    @contextmanager
    def stuck_shim(self, container: Container) -> Iterator[int]:
        """The container's shim answers nothing while this is held; gives its pid."""
        shim = proctree.parent(container.pids[0])
        if shim not in self._shims():
            raise PartFailedError(f"pid {shim}, parent of {container.id}, is no shim of this run")
        os.kill(shim, signal.SIGSTOP)
        try:
            yield shim
        finally:
            os.kill(shim, signal.SIGCONT)

    def ctr(self, *arguments: str, namespace: str = NAMESPACE) -> str:
        """What `ctr` prints. Raises PartFailedError with its stderr when it fails."""
        where = f"--address={self.socket} --connect-timeout=2s --namespace={namespace}"
        argv = [str(self._ctr), *where.split(), *arguments]
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=_CTR_TIMEOUT_S, check=False
        )
        if done.returncode != 0:
            raise PartFailedError(f"ctr {' '.join(arguments)} failed: {done.stderr.strip()}")
        return done.stdout

    def close(self) -> None:
        """End the containers, their shims and the daemon, and remove what they left.

        Asks the daemon nothing, so that it works on one that is stuck, stopped or broken.
        """
        self._supervisor.close()

    def _run(self, request: Request, kind: Kind) -> Container:
        placed = {"uid": request.pod.uid, "container_id": request.container_id}
        path = cgroups.fill(request.cgroup, **placed)
        remains.note_cgroups(self._folder, cgroups.own(request.cgroup, **placed))
        annotations: dict[str, str] = {"io.kubernetes.cri.container-type": kind}
        if request.pod.uid in self._sandboxes:
            annotations["io.kubernetes.cri.sandbox-id"] = self._sandboxes[request.pod.uid]
        config = self._folder / f"{request.container_id}.json"
        config.write_text(
            json.dumps(
                ocispec.spec(self._rootfs, request.processes, cgroup=path, annotations=annotations)
            )
        )
        self.ctr(
            "run",
            "--detach",
            "--null-io",
            "--runc-root",
            str(self._folder / "runc"),
            "--config",
            str(config),
            *_labels(request, kind),
            request.container_id,
            namespace=request.namespace,
        )
        config.unlink()
        return Container(
            id=request.container_id,
            pod=request.pod,
            name=request.name,
            kind=kind,
            cgroup=path,
            pids=self._wait_for_processes(request),
            namespace=request.namespace,
        )

    def _wait_for_processes(self, request: Request) -> tuple[int, ...]:
        init = int(self._init_pid_file(request).read_text())
        expected = ocispec.count(request.processes)
        wait_until(
            lambda: len(proctree.descendants(init)) == expected,
            what=f"{expected} processes in container {request.container_id}",
        )
        return proctree.descendants(init)

    def _init_pid_file(self, request: Request) -> Path:
        tasks = self._folder / "state" / "io.containerd.runtime.v2.task"
        return tasks / request.namespace / request.container_id / "init.pid"

    def _answers(self) -> bool:
        try:
            self.ctr("version")
        except PartFailedError:
            return False
        return True

    def _shims(self) -> tuple[int, ...]:
        return proctree.with_argument("-address", str(self.socket))


def _labels(request: Request, kind: str) -> list[str]:
    labels = {
        "io.cri-containerd.kind": kind,
        "io.kubernetes.pod.name": request.pod.name,
        "io.kubernetes.pod.namespace": request.pod.namespace,
        "io.kubernetes.pod.uid": request.pod.uid,
    }
    if kind == "container":
        labels["io.kubernetes.container.name"] = request.name
    return [word for key, value in labels.items() for word in ("--label", f"{key}={value}")]


def _write_configuration(folder: Path, socket: Path) -> None:
    # The CRI plugin is off: nothing here speaks CRI, and it wants a network to be set up.
    (folder / "config.toml").write_text(f"""\
version = 2
root = "{folder}/root"
state = "{folder}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
""")
