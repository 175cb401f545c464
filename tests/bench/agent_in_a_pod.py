"""`python -m tests.bench.agent_in_a_pod FOLDER FLAGS...`: a node agent with a pod's credentials.

The kubelet mounts them at a place of their own; here they are in FOLDER.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gpupods.kube import kubeconfig
from gpupods.kube.service_account import InCluster
from nodeagent.__main__ import main as agent


def start() -> None:
    """Run it until a signal."""
    folder = Path(sys.argv.pop(1))
    kubeconfig.source_of_access = lambda *_: InCluster(folder)
    agent()


if __name__ == "__main__":
    start()
