"""`gpupods doctor` on a simulated cluster in which something really is wrong."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from simulator.changes import (
    change_addresses,
    report_xid,
    set_clock_ahead,
    set_driver_fault,
    set_gpu_lost,
    set_host_pids,
    set_runtime_fault,
)
from simulator.kinds import DriverFault, RuntimeFault
from tests.simulator.running import Running, patiently, running

Check = dict[str, str]

NODE = "gpu-h100-1"
PATIENCE_S = 60.0


async def examined(*where: str) -> tuple[int, list[Check]]:
    """The command's exit code, and the checks it prints."""
    command = Path(sys.executable).with_name("gpupods")
    process = await asyncio.create_subprocess_exec(
        command, "doctor", "-o", "json", *where, stdout=PIPE
    )
    async with asyncio.timeout(PATIENCE_S):
        printed, _ = await process.communicate()
    document: dict[str, Any] = json.loads(printed)
    assert process.returncode is not None
    return process.returncode, document["checks"]


def in_cluster(run: Running) -> tuple[str, str]:
    """As an operator reaches the controller: through the kubeconfig."""
    return "--kubeconfig", str(run.cluster.kubeconfig)


def at_server(run: Running) -> tuple[str, str]:
    """Directly, without the way through the API server."""
    return "--server", str(run.cluster.grpc)


def trouble(checks: list[Check], status: str = "failed") -> list[tuple[str, str]]:
    """Subject and name of what came out like this."""
    return [(each["subject"], each["name"]) for each in checks if each["status"] == status]


def told(checks: list[Check], subject: str, name: str) -> str:
    """What is said of one check."""
    (check,) = [each for each in checks if (each["subject"], each["name"]) == (subject, name)]
    assert check["advice"], "what is not well has an advice"
    return f"{check['found']} {check['advice']}"


async def test_all_is_well_but_for_what_the_scenario_has() -> None:
    async with running() as run:
        code, checks = await examined(*in_cluster(run))
        assert (code, trouble(checks)) == (0, [])
        assert trouble(checks, "warning") == [("cpu-1", "driver"), ("gpu-mig-1", "cgroups")]
        assert {each["part"] for each in checks} == {"access", "controller", "node"}
        assert {each["subject"] for each in checks if each["part"] == "node"} == {
            node.name for node in run.truth.nodes.values()
        }


@dataclass(frozen=True)
class Case:
    """A fault, and what is to be found: of which subject, which check, with which words."""

    break_it: Callable[[Running], Awaitable[None] | None]
    subject: str
    name: str
    words: tuple[str, ...]
    status: str = "failed"
    where: Callable[[Running], tuple[str, str]] = at_server
    unfit: bool = False
    """Whether the fault makes GPUs unfit, too."""


async def stop_agent(run: Running) -> None:
    await run.cluster.agents.stop_one(run.node(NODE).name)


def forbid(verb: str, resource: str) -> Callable[[Running], None]:
    return lambda run: run.cluster.apiserver.faults.denied.add((verb, resource))


FAULTS = {
    "the driver hangs": Case(
        lambda r: set_driver_fault(r.node(NODE), DriverFault.HANGS),
        NODE, "driver", ("did not respond", "nvidia-smi"), unfit=True,
    ),
    "the driver is not loaded": Case(
        lambda r: set_driver_fault(r.node(NODE), DriverFault.NOT_LOADED),
        NODE, "driver", ("not loaded",), unfit=True,
    ),
    "a GPU is lost": Case(
        lambda r: set_gpu_lost(r.node(NODE), 1),
        NODE, "GPUs", ("fallen off the bus", "cordon"), unfit=True,
    ),
    "a GPU has had an XID": Case(
        lambda r: report_xid(r.truth, r.node(NODE), 1, 79),
        NODE, "GPU health", ("GPU 1 is unfit: XID 79",),
    ),
    "the runtime is down": Case(
        lambda r: set_runtime_fault(r.node(NODE), RuntimeFault.DOWN),
        NODE, "runtime socket", ("connection refused", "--runtime-socket"),
    ),
    "the runtime hangs": Case(
        lambda r: set_runtime_fault(r.node(NODE), RuntimeFault.HANGS),
        NODE, "runtime socket", ("did not answer",),
    ),
    "the agent is not in the host's pid namespace": Case(
        lambda r: set_host_pids(r.node(NODE), host_pids=False),
        NODE, "host pids", ("hostPID: true",),
    ),
    "a node's clock is ahead": Case(
        lambda r: set_clock_ahead(r.node(NODE), 90.0),
        NODE, "clock", (" s ahead", "chronyc"), "warning",
    ),
    "the agent is away": Case(
        stop_agent, NODE, "agent", ("not reached", "no pod of the DaemonSet"),
    ),
    "the node has no address": Case(
        lambda r: change_addresses(r.truth, r.node(NODE), []), NODE, "agent", ("InternalIP",)
    ),
    "the controller may not watch": Case(
        forbid("watch", "nodes"), "", "rights", ("may not watch nodes",)
    ),
    "the caller may not port-forward": Case(
        forbid("create", "pods/portforward"), "", "your rights", ("create pods/portforward",),
        where=in_cluster,
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_is_found_where_it_is(fault: str) -> None:
    case = FAULTS[fault]
    async with running() as run:
        broken = case.break_it(run)
        if broken is not None:
            await broken
        async for _ in patiently():
            code, checks = await examined(*case.where(run))
            if (case.subject, case.name) in trouble(checks, case.status):
                break
        for words in case.words:
            assert words in told(checks, case.subject, case.name)
        if case.name == "clock":  # to within half the way there and back, which load makes long
            (ahead_s,) = re.findall(r"([\d.]+) s ahead", told(checks, case.subject, case.name))
            assert float(ahead_s) == pytest.approx(90.0, abs=5.0)
        assert code == (1 if case.status == "failed" else 0)
        known = {(case.subject, case.name), ("", "agents")}
        if case.unfit:
            known.add((NODE, "GPU health"))
        others = [one for one in trouble(checks) if one not in known]
        assert others == [], "nothing else is blamed"


async def test_the_api_server_is_away() -> None:
    async with running() as run:
        await run.cluster.apiserver.go_away()
        code, checks = await examined(*in_cluster(run))
        assert (code, trouble(checks)) == (1, [("", "API access")])
        assert "kubectl get --raw /version" in told(checks, "", "API access")
        code, checks = await examined(*at_server(run))
        assert code == 1
        assert ("", "API server") in trouble(checks)
        assert {each["subject"] for each in checks if each["part"] == "node"}, "nodes are known"


async def test_nothing_answers_in_time_on_a_node_that_is_cut_off() -> None:
    """Another fault on another node: each is told, and neither hides the other."""
    async with running() as run:
        set_driver_fault(run.node(NODE), DriverFault.HANGS)
        await run.cluster.agents.stop_one(run.node("gpu-a100").name)
        _, checks = await examined(*at_server(run))
        assert set(trouble(checks)) - {(NODE, "GPU health")} == {
            (NODE, "driver"),
            ("gpu-a100-1", "agent"),
            ("", "agents"),
        }
