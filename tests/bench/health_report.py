"""From an XID on the driver to the Node: how soon, and 1,000 nodes that fail together.

The driver is the fake one, the agent and the API server are the real ones; a watch of the Node,
as a scheduler has it, tells when the annotation is there.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import urllib3

from gpupods import Client
from gpupods.client.errors import GpuPodsError
from gpupods.node_annotations import (
    OVERRIDES,
    UNHEALTHY_IDS,
    Override,
    OverrideKind,
    format_ids,
    format_overrides,
)
from tests.bench import health_report_fleet
from tests.bench.report import Figure, at_most, latencies, quick, show
from tests.bench.usage import memory, tree
from tests.e2e.audited import AuditedApiserver
from tests.e2e.programs import Agent, Programs
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.faults import Event
from tests.fakedriver.scenario import Gpu, Scenario
from tests.realparts import objects, parts
from tests.realparts.kubeapi import node_path
from tests.realparts.processes import wait_until

NODE = "measured"
EIGHT = tuple(Gpu.number(index) for index in range(8))
XID = 142
"""One that only a person's word ends: nothing else happens meanwhile."""
LIMIT_S = 60
QUIET_S = 0.2
"""After a round: nothing is on its way any more, as on a node where nothing has happened."""
SETTLE_S = 5.0
"""Before memory is read."""
MIB = 1024 * 1024
NODES = 1000


@dataclass
class Bench:
    """One node whose agent reports to a real API server."""

    server: AuditedApiserver
    driver: FakeDriver
    watch: Iterator[str | None]
    """The annotation, whenever the Node changes."""

    def fail(self, indexes: list[int]) -> float:
        """Seconds from the XIDs on the driver to the annotation in the watch."""
        events = [Event.xid(EIGHT[index].uuid, XID) for index in indexes]
        wanted = format_ids(indexes)
        began = time.perf_counter()
        self.driver.post(*events)
        for ids in self.watch:
            if ids == wanted:
                return time.perf_counter() - began
        raise TimeoutError(f"the annotation {wanted} never came")

    def mend(self) -> None:
        """An operator restores all of them."""
        word = Override(OverrideKind.RESTORE, "bench", "next round", datetime.now(UTC))
        words = format_overrides(dict.fromkeys(range(len(EIGHT)), word))
        self.server.api.patch(node_path(NODE), {"metadata": {"annotations": {OVERRIDES: words}}})
        next(ids for ids in self.watch if ids is None)
        time.sleep(QUIET_S)


def main() -> None:
    """Measure and print."""
    rounds, nodes = (20, 100) if quick() else (200, NODES)
    with AuditedApiserver(parts.ensure()) as server, Programs() as programs:
        driver = FakeDriver(programs.folder("driver"), Scenario(EIGHT))
        server.api.create_node(objects.node(NODE, "127.0.0.1"))
        off = resident_mib(server, programs, driver, ())
        on = resident_mib(server, programs, driver, ("--report",))
        with reported(server, programs, driver) as bench:
            one = [in_a_round(bench, [number % len(EIGHT)]) for number in range(rounds)]
            before = server.patches(NODE)
            all_of_them = [in_a_round(bench, list(range(len(EIGHT)))) for _ in range(rounds // 2)]
            patches = server.patches(NODE) - before
        fleet = health_report_fleet.measure(server, nodes)
    show(
        "from an XID on the fake driver to the annotation in a watch of kube-apiserver",
        [
            *latencies("one GPU", one, target_median=at_most(200), target_p99=at_most(1000)),
            *latencies(
                "8 GPUs at once", all_of_them, target_median=at_most(200), target_p99=at_most(1000)
            ),
            Figure(
                "patches when 8 fail and when they are restored, a round",
                patches / (rounds // 2),
                "",
                target=at_most(2),
            ),
            Figure("memory of an agent in a pod (PSS)", on, "MiB", off, "without --report"),
        ],
        [
            "50 ms of it are waited on purpose, for other GPUs that fail at the same moment",
            "memory is that of all processes of an agent that was asked once",
        ],
    )
    health_report_fleet.tell(fleet)


def in_a_round(bench: Bench, indexes: list[int]) -> float:
    """Let them fail, and be restored."""
    took_s = bench.fail(indexes)
    bench.mend()
    return took_s


def reporting(server: AuditedApiserver) -> tuple[str, ...]:
    """Flags of an agent that reports."""
    return ("--report", "--kubeconfig", str(server.kubeconfig))


def start(programs: Programs, driver: FakeDriver, flags: tuple[str, ...]) -> Agent:
    """An agent that waits for the driver's events."""
    edges = ("--runtime-socket=", "--kernel-log=", "--grpc-listen=127.0.0.1:0")
    before = driver.count("nvmlEventSetWait_v2").started
    agent = programs.agent(*edges, "--node-name", NODE, *flags, env=driver.environment({}))
    end = time.monotonic() + LIMIT_S
    while driver.count("nvmlEventSetWait_v2").started <= before:
        assert time.monotonic() < end, agent.log()
        time.sleep(0.01)
    return agent


def resident_mib(
    server: AuditedApiserver, programs: Programs, driver: FakeDriver, flags: tuple[str, ...]
) -> float:
    """Memory of all processes of an agent in a pod, asked once; shared pages are counted once."""
    folder = programs.folder("service-account")
    (folder / "token").write_text(server.token)
    (folder / "ca.crt").write_bytes(server.ca.read_bytes())
    host, port = server.url.removeprefix("https://").split(":")
    cluster = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    module = [sys.executable, "-m", "tests.bench.agent_in_a_pod", str(folder)]
    edges = ["--runtime-socket=", "--kernel-log=", f"--grpc-listen={listen}", "--node-name", NODE]
    state = ["--state-dir", str(programs.folder("state"))]
    with subprocess.Popen(
        [*module, *edges, *state, *flags],
        env=driver.environment() | cluster,
        stderr=subprocess.DEVNULL,
    ) as agent:
        with Client(listen) as client:
            wait_until(lambda: bool(asked(client)), what="an answer")
        time.sleep(1.0 if quick() else SETTLE_S)
        size = sum(memory(pid, "Pss") for pid in tree(agent.pid)) / MIB
        agent.terminate()
    return size


def asked(client: Client) -> int:
    """How many GPUs the agent has answered with."""
    try:
        return len(client.get_gpu_pods_message("").GpuInfos)
    except GpuPodsError:
        return 0


@contextmanager
def reported(server: AuditedApiserver, programs: Programs, driver: FakeDriver) -> Iterator[Bench]:
    """An agent that reports, and a watch of its Node."""
    agent = start(programs, driver, reporting(server))
    with watched(server) as watch:
        yield Bench(server, driver, watch)
    agent.stop()


@contextmanager
def watched(server: AuditedApiserver) -> Iterator[Iterator[str | None]]:
    """The annotation at each change of the Node from now on."""
    version = server.api.get(node_path(NODE))["metadata"]["resourceVersion"]
    query = f"watch=true&fieldSelector=metadata.name={NODE}&resourceVersion={version}"
    pool = urllib3.PoolManager(ca_certs=str(server.ca), retries=False, timeout=LIMIT_S)
    answer = pool.request(
        "GET",
        f"{server.url}/api/v1/nodes?{query}",
        headers={"Authorization": f"Bearer {server.token}"},
        preload_content=False,
    )
    yield ids_of(answer)
    answer.close()


def ids_of(answer: urllib3.BaseHTTPResponse) -> Iterator[str | None]:
    """Of each event of the watch."""
    rest = b""
    while data := answer.read1():
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            metadata = json.loads(line)["object"]["metadata"]
            yield metadata.get("annotations", {}).get(UNHEALTHY_IDS)
