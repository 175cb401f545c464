"""What kustomize and Helm make of the manifests, as objects that can be compared."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.realparts.objects import Json

MANIFESTS: Final = Path(__file__).parents[2] / "manifests"
NAMESPACE: Final = "gpupods-system"
_TIMEOUT_S: Final = 60


@dataclass(frozen=True)
class Variant:
    """One kind of installation: a folder for kustomize, and the values that mean the same."""

    name: str
    folder: Path

    @property
    def values(self) -> tuple[Path, ...]:
        """The values file that stands beside the kustomization; the base needs none."""
        return () if self.name == "base" else (self.folder / "values.yaml",)


def variants() -> list[Variant]:
    """The base, and every overlay."""
    overlays = sorted(path.parent for path in MANIFESTS.glob("overlays/*/kustomization.yaml"))
    return [Variant("base", MANIFESTS / "base"), *(Variant(path.name, path) for path in overlays)]


def kubectl() -> Path:
    """The kubectl among the development dependencies; its kustomize needs no cluster."""
    return Path(sys.executable).with_name("kubectl")


def kustomize(folder: Path) -> str:
    """What `kubectl apply -k` would apply."""
    done = subprocess.run(
        [kubectl(), "kustomize", folder],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(rendered: str) -> list[Json]:
    """Every object of a rendered text."""
    return [document for document in yaml.safe_load_all(rendered) if document]


def by_identity(listed: Iterable[Json]) -> dict[str, Json]:
    """Objects under `kind namespace/name`, so that a difference says where it is."""
    found: dict[str, Json] = {}
    for each in listed:
        metadata = each["metadata"]
        name = f"{each['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
        assert name not in found, f"{name} is there twice"
        found[name] = each
    return found


def one(listed: Iterable[Json], kind: str, name: str) -> Json:
    """The object of that kind and name."""
    (found,) = [
        each for each in listed if each["kind"] == kind and each["metadata"]["name"] == name
    ]
    return found


def pod_template(workload: Json) -> Json:
    """The pod that a Deployment or DaemonSet makes, without its workload's selector."""
    template: Json = workload["spec"]["template"]
    return template


def selects(labels: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether an object with `labels` is meant by matchLabels `wanted`; nothing means nothing."""
    return bool(wanted) and wanted.items() <= labels.items()
