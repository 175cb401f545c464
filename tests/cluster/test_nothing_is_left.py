"""A cluster takes away all that it made, also when it is interrupted or killed.

It is a second cluster: the first, which other tests use, goes on beside it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.parts import ClusterParts
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


@dataclass(frozen=True)
class Machine:
    """What of this machine a cluster could have changed."""

    links: frozenset[str]
    routes: frozenset[str]
    files: frozenset[str]
    sysctls: tuple[str, ...]

    @classmethod
    def now(cls) -> Machine:
        return cls(
            links=frozenset(entry.name for entry in Path("/sys/class/net").iterdir()),
            routes=frozenset(Path("/proc/net/route").read_text().splitlines()),
            files=frozenset(str(one) for place in PLACES for one in Path(place).glob("*")),
            sysctls=tuple(Path("/proc/sys", name).read_text() for name in SYSCTLS),
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_cluster_that_a_signal_ends(
    cluster_parts: ClusterParts, number: signal.Signals
) -> None:
    before = Machine.now()
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
    assert not folder.exists()
    assert not any(folder.name in point for point in proctree.mount_points())
    assert not cgroups.exists(f"/{folder.name}")
    # The kernel takes a network namespace apart after its last process has ended.
    wait_until(lambda: Machine.now().links == before.links, what="the cluster's links to go")
    assert Machine.now() == before
