"""What a person would look at first when something in the cluster is wrong."""

from __future__ import annotations

import subprocess

from tests.cluster.cluster import Cluster
from tests.cluster.product import NAMESPACE
from tests.realparts.processes import PartFailedError

_COMMANDS = (
    ("get", "nodes"),
    ("get", "pods", "--all-namespaces", "--output=wide"),
    ("get", "events", "--all-namespaces", "--field-selector=type=Warning"),
    (
        *("logs", "--selector=app.kubernetes.io/name=gpupods", "--prefix", "--tail=15"),
        *("--all-containers", f"--namespace={NAMESPACE}"),
    ),
)
_SHOWN = 6000


def state(cluster: Cluster) -> list[tuple[str, str]]:
    """Titles and texts: nodes, pods, warnings, and the end of gpupods' logs."""
    return [(f"kubectl {' '.join(words)}", _told(cluster, words)) for words in _COMMANDS]


def _told(cluster: Cluster, words: tuple[str, ...]) -> str:
    try:
        return cluster.kubectl(*words)[-_SHOWN:]
    except (PartFailedError, subprocess.TimeoutExpired) as error:
        return str(error)
