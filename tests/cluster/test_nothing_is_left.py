"""A cluster takes away all that it made, also when it is interrupted or killed.

It is a second cluster: the first, which other tests use, goes on beside it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.node import NodeKind
from tests.cluster.parts import ClusterParts
from tests.cluster.runtime import Containerd
from tests.realparts import cgroups, proctree
from tests.realparts.processes import Supervisor, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

RUN_UNTIL_STOPPED = """
import json, signal
from tests.cluster import parts, workloads
from tests.cluster.cluster import Cluster
from tests.cluster.testbed import Testbed

with Cluster(parts.ensure()) as cluster:
    bed = Testbed(cluster)
    bed.apply(workloads.daemon_set("default", "left"))
    bed.pods(expected=2)
    print(json.dumps(str(cluster.folder)), flush=True)
    signal.pause()
"""
PLACES = ("/etc", "/etc/cni", "/opt", "/run", "/run/netns", "/var/lib", "/var/log", "/dev/shm")
SYSCTLS = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward")


def found() -> set[str]:
    """What is on this machine that a cluster could have left there, or changed."""
    return {
        *(f"link {entry.name}" for entry in Path("/sys/class/net").iterdir()),
        *(f"route {line}" for line in Path("/proc/net/route").read_text().splitlines()),
        *(str(entry) for place in PLACES for entry in Path(place).glob("*")),
        *(f"{name} = {Path('/proc/sys', name).read_text()}" for name in SYSCTLS),
    }


def assert_nothing_is_left(folder: Path, before: set[str]) -> None:
    assert not folder.exists()
    assert not any(folder.name in point for point in proctree.mount_points())
    assert not cgroups.exists(f"/{folder.name}")
    # The kernel takes a network namespace apart after its last process has ended.
    wait_until(lambda: found() <= before, what="the cluster's links to go")


def test_nothing_is_left_of_a_cluster_that_does_not_start(cluster_parts: ClusterParts) -> None:
    broken = replace(Containerd.of_debian(cluster_parts.base), program=Path("/bin/false"))
    before = found()
    cluster = Cluster(cluster_parts, kinds=(NodeKind("broken", broken),))
    with pytest.raises(subprocess.CalledProcessError, match="/bin/false"), cluster:
        pass
    assert_nothing_is_left(cluster.folder, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_cluster_that_a_signal_ends(
    cluster_parts: ClusterParts, number: signal.Signals
) -> None:
    before = found()
    run = subprocess.Popen([sys.executable, "-c", RUN_UNTIL_STOPPED], stdout=subprocess.PIPE)
    assert run.stdout is not None
    folder = Path(json.loads(run.stdout.readline()))
    ran = cgroups.processes(f"/{folder.name}")
    assert len(ran) > 20
    run.send_signal(number)
    run.communicate(timeout=60)
    if number == signal.SIGKILL:
        # Nobody could clear away then: the next run does.
        assert cgroups.processes(f"/{folder.name}")
        Supervisor().close()
    assert not any(map(proctree.alive, ran))
    assert_nothing_is_left(folder, before)
