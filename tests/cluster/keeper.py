"""`make cluster` and `make cluster-down`: a cluster that stays until it is told to go.

A process of its own keeps it, so that there is somebody whose end takes it away: a signal at
once, a kill at the next run of the tests.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

from tests.cluster import parts
from tests.cluster.cluster import Cluster
from tests.realparts import proctree
from tests.realparts.processes import PartFailedError, wait_until

_STATE = Path(tempfile.gettempdir()) / "gpupods-cluster.json"
"""What is kept: the keeper's pid with its start time, then what it tells people."""
_LOG = _STATE.with_suffix(".log")
_UP_IN_S = 1200.0
_DOWN_IN_S = 120.0


def up() -> None:
    """Start a keeper, unless there is one, and tell when its cluster runs."""
    if _running() is None:
        parts.ensure()  # here, where the progress of a build is seen
        with _LOG.open("wb") as log:
            keeper = subprocess.Popen(
                [sys.executable, "-m", "tests.cluster.keeper", "keep"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(
            lambda: _running() is not None or keeper.poll() is not None,
            what="the cluster to run",
            deadline_s=_UP_IN_S,
        )
    state = _running()
    if state is None:
        sys.exit(f"the cluster did not start:\n{_LOG.read_text()}")
    print(state["told"])


def down() -> None:
    """End the keeper and wait until its cluster is gone."""
    state = _running()
    if state is None:
        print("there is no cluster of `make cluster` here")
        return
    pid = int(state["pid"])
    os.kill(pid, signal.SIGTERM)
    try:
        wait_until(lambda: not proctree.alive(pid), what="the cluster's end", deadline_s=_DOWN_IN_S)
    except PartFailedError as error:
        sys.exit(f"{error}; its log is {_LOG}")
    _LOG.unlink(missing_ok=True)
    print("the cluster is gone")


def keep() -> None:
    """Be the keeper: from the cluster's start to a signal."""
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    try:
        with Cluster(parts.ensure()) as cluster:
            _write_state(cluster)
            while True:
                signal.pause()
    except KeyboardInterrupt:
        return
    finally:
        _STATE.unlink(missing_ok=True)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _running() -> dict[str, str] | None:
    """The state that a living keeper has written."""
    if not _STATE.exists():
        return None
    state: dict[str, str] = json.loads(_STATE.read_text())
    pid = int(state["pid"])
    if not proctree.alive(pid) or str(proctree.start_time(pid)) != state["started"]:
        return None
    return state


def _write_state(cluster: Cluster) -> None:
    state = {
        "pid": str(os.getpid()),
        "started": str(proctree.start_time(os.getpid())),
        "told": _told(cluster),
    }
    draft = _STATE.with_suffix(".draft")
    draft.write_text(json.dumps(state))
    draft.rename(_STATE)


def _told(cluster: Cluster) -> str:
    shells = [
        f"# a shell on {node.name}: {' '.join(map(str, node.machine.words('bash')))}"
        for node in cluster.nodes.values()
    ]
    return "\n".join(
        [
            f"export KUBECONFIG={cluster.kubeconfig}",
            f"# kubectl: {cluster.parts.base.kubectl}",
            f"# Services ({cluster.plan.services}) and pods ({cluster.plan.pods}) can be reached",
            f"# logs of every part: {cluster.folder}/*.log",
            *shells,
            "# make cluster-down takes it away",
        ]
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.keeper", description=__doc__)
    commands = {"up": up, "down": down, "keep": keep}
    parser.add_argument("command", choices=commands)
    commands[parser.parse_args().command]()


if __name__ == "__main__":
    main()
