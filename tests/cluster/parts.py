"""The programs that a cluster needs beside those of `tests.realparts.parts`.

`python -m tests.cluster.parts` makes sure of all of them and prints where they are.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from tests.realparts import debian, gobuild
from tests.realparts.parts import Parts, kubernetes_program
from tests.realparts.parts import ensure as ensure_base

_DEBIAN = {
    # The CNI plugins are in a folder of their own, all in the one package.
    "cni": debian.Program("containernetworking-plugins", "host-local"),
    "iptables": debian.Program("iptables", "iptables"),
    "conntrack": debian.Program("conntrack", "conntrack"),
    "buildah": debian.Program("buildah", "buildah"),
    "debootstrap": debian.Program("debootstrap", "debootstrap"),
    "podman": debian.Program("podman", "podman"),
    "crun": debian.Program("crun", "crun"),
}

_KUBERNETES = {
    "kubelet": kubernetes_program("kubelet"),
    "controller_manager": kubernetes_program("kube-controller-manager"),
    "scheduler": kubernetes_program("kube-scheduler"),
    "kube_proxy": kubernetes_program("kube-proxy"),
}


@dataclass(frozen=True)
class ClusterParts:
    """The path of each program, all of them present; `cni` is the plugins' folder."""

    base: Parts
    kubelet: Path
    controller_manager: Path
    scheduler: Path
    kube_proxy: Path
    cni: Path
    iptables: Path
    conntrack: Path
    buildah: Path
    debootstrap: Path
    podman: Path
    crun: Path


def ensure() -> ClusterParts:
    """Find every part, install or build what is missing. Progress goes to stderr."""
    found = debian.ensure(_DEBIAN)
    found |= {name: gobuild.ensure(program) for name, program in _KUBERNETES.items()}
    found["cni"] = found["cni"].parent
    return ClusterParts(base=ensure_base(), **found)


def main() -> None:
    parts = ensure()
    for field in fields(parts):
        if field.name != "base":
            print(f"{field.name:<18}  {getattr(parts, field.name)}")


if __name__ == "__main__":
    main()
