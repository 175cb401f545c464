"""A container runtime that a node can have: which programs, and the files they read.

Paths in the files are the node's own: the standard ones.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.cluster.images import PAUSE
from tests.realparts.processes import PartFailedError

if TYPE_CHECKING:
    from tests.realparts.parts import Parts

SOCKET: Final = "/run/containerd/containerd.sock"
CONFIG: Final = "/etc/kubernetes/containerd.toml"
CNI_CONFIGS: Final = "/etc/cni/net.d"
OPT: Final = "/var/lib/containerd/opt"
_CTR_TIMEOUT_S: Final = 300.0


@dataclass(frozen=True)
class Containerd:
    """The programs of a containerd, 1.x or 2.x, and the OCI runtime that it has to use."""

    program: Path
    ctr_program: Path
    shim: Path
    oci_runtime: Path
    major: int = 1

    @classmethod
    def of_debian(cls, parts: Parts, *, oci_runtime: Path | None = None) -> Containerd:
        """Debian's, which is a 1.x."""
        return cls(parts.containerd, parts.ctr, parts.containerd_shim, oci_runtime or parts.runc)

    def config(self, *, cni: Path, opt: str = OPT) -> str:
        """Its configuration; `cni` is the folder of the CNI plugins, `opt` one that it makes."""
        write = _config_2 if self.major == 2 else _config_1
        return write(cni, self.oci_runtime, opt)

    def environment(self) -> dict[str, str]:
        """It looks for its shim on PATH, and the CNI plugins for iptables."""
        return {"PATH": os.pathsep.join([str(self.shim.parent), os.environ["PATH"]])}

    def ctr(self, socket: Path, *words: str) -> str:
        """What `ctr` prints of Kubernetes' containers. Raises PartFailedError."""
        done = subprocess.run(
            [self.ctr_program, f"--address={socket}", "--namespace=k8s.io", *words],
            capture_output=True,
            text=True,
            timeout=_CTR_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            raise PartFailedError(
                f"ctr {' '.join(words)} at {socket} failed: {done.stderr.strip()}"
            )
        return done.stdout

    def answers(self, socket: Path) -> bool:
        """Whether one serves at the socket."""
        try:
            self.ctr(socket, "version")
        except PartFailedError:
            return False
        return True


def cni_config(pods: str) -> str:
    """Pods of one node on a bridge, with addresses of the range `pods`, and host ports."""
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": pods}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, portmap]})


def _config_1(cni: Path, oci_runtime: Path, opt: str) -> str:
    return f"""\
version = 2
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]
[plugins."io.containerd.internal.v1.opt"]
  path = "{opt}"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  sandbox_image = "{PAUSE}"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{cni}"
  conf_dir = "{CNI_CONFIGS}"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  BinaryName = "{oci_runtime}"
"""


def _config_2(cni: Path, oci_runtime: Path, opt: str) -> str:
    return f"""\
version = 3
disabled_plugins = [
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.zfs",
]
[plugins.'io.containerd.internal.v1.opt']
  path = "{opt}"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "{PAUSE}"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["{cni}"]
  conf_dir = "{CNI_CONFIGS}"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  BinaryName = "{oci_runtime}"
"""
