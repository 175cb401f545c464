"""Helm as a part: built from its module once, run against one cluster or none.

`python -m tests.manifests.helm` builds it and prints where it is.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.manifests.rendering import MANIFESTS, NAMESPACE
from tests.realparts import gobuild

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CHART: Final = MANIFESTS / "chart"
RELEASE: Final = "gpupods"
_TIMEOUT_S: Final = 120
_PROGRAM: Final = gobuild.Program(
    folder="helm",
    package="helm.sh/helm/v4/cmd/helm",
    version_of="helm.sh/helm/v4",
    set_variables=("helm.sh/helm/v4/internal/version.version={version}",),
)


class HelmError(RuntimeError):
    """Helm refused; the message is what it said."""


def ensure() -> Path:
    """Where helm is; it is built first if it is not there."""
    return gobuild.ensure(_PROGRAM)


@dataclass(frozen=True)
class Helm:
    """Runs one program with a home of its own; `kubeconfig` is for what needs a cluster."""

    program: Path
    home: Path
    kubeconfig: Path | None = None

    def template(self, *arguments: str) -> str:
        """The chart rendered as in the namespace that kustomize's base names."""
        return self.run("template", RELEASE, str(CHART), f"--namespace={NAMESPACE}", *arguments)

    def install(self, *arguments: str, namespace: str = NAMESPACE) -> str:
        words = [RELEASE, str(CHART), f"--namespace={namespace}", "--create-namespace"]
        return self.run("install", *words, *arguments)

    def upgrade(self, *arguments: str) -> str:
        return self.run("upgrade", RELEASE, str(CHART), f"--namespace={NAMESPACE}", *arguments)

    def uninstall(self, *arguments: str) -> str:
        return self.run("uninstall", RELEASE, f"--namespace={NAMESPACE}", *arguments)

    def run(self, *arguments: str) -> str:
        """What helm prints. Raises HelmError."""
        done = subprocess.run(
            [self.program, *arguments],
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            raise HelmError(done.stderr.strip())
        return done.stdout

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
        if self.kubeconfig is not None:
            kept["KUBECONFIG"] = str(self.kubeconfig)
        return {**kept, "HOME": str(self.home)}


def values_flags(*files: Path) -> Sequence[str]:
    """One --values for each file."""
    return [f"--values={file}" for file in files]


if __name__ == "__main__":
    print(f"helm  {ensure()}")
