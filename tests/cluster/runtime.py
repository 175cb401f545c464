"""The files that a node's containerd and CNI plugins read. Pure.

Paths are the node's own: the standard ones.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.cluster.images import PAUSE

SOCKET = "/run/containerd/containerd.sock"
CONFIG = "/etc/kubernetes/containerd.toml"
CNI_CONFIGS = "/etc/cni/net.d"
_OPT = "/var/lib/containerd/opt"


def containerd_1(*, cni: Path, oci_runtime: Path) -> str:
    """The configuration of containerd 1.6 and 1.7, with the programs' paths given."""
    return f"""\
version = 2
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]
[plugins."io.containerd.internal.v1.opt"]
  path = "{_OPT}"
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


def containerd_2(*, cni: Path, oci_runtime: Path) -> str:
    """The same for containerd 2."""
    return f"""\
version = 3
disabled_plugins = [
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.zfs",
]
[plugins.'io.containerd.internal.v1.opt']
  path = "{_OPT}"
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


def cni(pods: str) -> str:
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
