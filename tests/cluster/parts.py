"""The programs that a cluster needs beside those of `tests.realparts.parts`.

`python -m tests.cluster.parts` makes sure of all of them and prints where they are.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from tests.cluster.runtime import Containerd
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

_CONTAINERD_2: Final = "github.com/containerd/containerd/v2"


@dataclass(frozen=True)
class ClusterParts:
    """The path of each program, all of them present; `cni` is the plugins' folder.

    `containerd_2` uses runc.
    """

    base: Parts
    containerd_2: Containerd
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
    base = ensure_base()
    return ClusterParts(base=base, containerd_2=_containerd_2(base), **found)


def _containerd_2(base: Parts) -> Containerd:
    """The containerd 2 that `go/containerd` pins, each program under the name it goes by."""
    built = {
        name: gobuild.ensure(
            gobuild.Program(
                folder="containerd",
                package=f"{_CONTAINERD_2}/cmd/{name}",
                version_of=_CONTAINERD_2,
                set_variables=(f"{_CONTAINERD_2}/version.Version={{version}}",),
            )
        )
        for name in ("containerd", "containerd-shim-runc-v2", "ctr")
    }
    folder = built["containerd"].with_suffix(".programs")
    folder.mkdir(exist_ok=True)
    for name, program in built.items():
        if not (folder / name).exists():
            (folder / name).symlink_to(program)
    program, shim, ctr = (folder / name for name in built)
    return Containerd(program, ctr, shim, base.runc, major=2)


def main() -> None:
    parts = ensure()
    print(f"{'containerd_2':<18}  {parts.containerd_2.program}")
    for field in fields(parts):
        if field.name not in ("base", "containerd_2"):
            print(f"{field.name:<18}  {getattr(parts, field.name)}")


if __name__ == "__main__":
    main()
