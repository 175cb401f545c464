"""A real kube-scheduler beside the API server of `apiserver`, with an extender.

It is told of the extender by the file that operators are given, in which only the address and the
credentials are another test's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import yaml

from tests.realparts import gobuild
from tests.realparts.parts import kubernetes_program
from tests.realparts.processes import Supervisor

if TYPE_CHECKING:
    from tests.realparts.apiserver import Apiserver
    from tests.realparts.objects import Json
    from tests.realparts.processes import Child

EXAMPLE: Final = (
    Path(__file__).parents[2] / "manifests/components/scheduler-extender/kube-scheduler.yaml"
)


class KubeScheduler:
    """Runs from `start` on; `name` is what pods write as their ``schedulerName``."""

    name: Final = "with-extender"

    def __init__(self, apiserver: Apiserver) -> None:
        self._apiserver = apiserver
        self._supervisor = Supervisor()
        self._child: Child | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._supervisor.close()

    def start(self, url_prefix: str, **extender: object) -> None:
        """Start it; ``extender`` replaces lines of the example's extender."""
        config = self._supervisor.folder / "scheduler.yaml"
        kubeconfig = self._apiserver.kubeconfig
        text = configuration(kubeconfig, self.name, urlPrefix=url_prefix, **extender)
        config.write_text(text)
        program = gobuild.ensure(kubernetes_program("kube-scheduler"))
        self._child = self._supervisor.start(
            "kube-scheduler",
            [program, f"--config={config}", "--secure-port=0", "-v=3"],
            ready=lambda: True,
        )

    def log(self) -> str:
        """What it has written so far."""
        return "" if self._child is None else self._child.log.read_text(errors="replace")


def configuration(kubeconfig: Path, name: str, **extender: object) -> str:
    """The example for a scheduler that pods know as ``name``; ``extender`` replaces lines of it."""
    config: Json = yaml.safe_load(EXAMPLE.read_text())
    (given,) = config["extenders"]
    given.update(extender)
    # Pods that wait are looked at again soon, so that a test need not.
    config |= {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
    config |= {"clientConnection": {"kubeconfig": str(kubeconfig)}}
    config |= {"leaderElection": {"leaderElect": False}, "profiles": [{"schedulerName": name}]}
    return yaml.safe_dump(config)
