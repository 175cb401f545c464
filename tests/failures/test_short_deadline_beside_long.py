"""Somebody asks with hardly any time, beside others who have enough: they get what they asked for.

And somebody has more time than anybody should wait for a shim that is stuck.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from gpupods.identity import ContainerId, Pid
from nodeagent.containers.identify import ProcessIdentifier
from nodeagent.containers.identity import Unattributed
from nodeagent.containers.known import KnownContainers
from nodeagent.containers.runtime import RuntimeContainer, RuntimeUnavailableError
from tests.containerdservices import until
from tests.contract.simulated_containers import ServedNode, served_node
from tests.identifying import AMPLE_S, hide_cgroups, owned, owners, reasons

NO_TIME_S = 0.000_1
TOO_SHORT_S = 0.2
YEARS_S = 10 * 365 * 86_400.0


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[ServedNode]:
    async with served_node(tmp_path) as node:
        yield node


async def test_a_search_that_had_no_time_is_made_again_for_who_has(node: ServedNode) -> None:
    _, container = node.run()
    hide_cgroups(node, container)
    identifier = ProcessIdentifier(node.table, node.runtime)
    hurried = await identifier.identify(container.pids, node.now(), NO_TIME_S)
    assert reasons(hurried) == {Unattributed.UNDETERMINED}
    patient = await identifier.identify(container.pids, node.now(), AMPLE_S)
    assert owners(patient) == owned(container)
    assert patient.missing == ()


async def test_what_is_known_needs_no_search_to_be_over(node: ServedNode) -> None:
    _, known = node.run()
    _, stuck = node.run()
    hide_cgroups(node, known, stuck)
    identifier = ProcessIdentifier(node.table, node.runtime)
    await identifier.identify(known.pids, node.now(), AMPLE_S)
    calls = node.daemon.calls["Tasks.ListPids"]
    with node.stuck(stuck):
        searching = asyncio.create_task(identifier.identify(stuck.pids, node.now(), AMPLE_S))
        await until(lambda: node.daemon.calls["Tasks.ListPids"] > calls)
        meanwhile = await identifier.identify(known.pids, node.now(), TOO_SHORT_S)
        assert owners(meanwhile) == owned(known)
        assert meanwhile.missing == ()
        assert not searching.done()
        searching.cancel()


async def test_a_deadline_of_years_holds_no_search_for_years(node: ServedNode) -> None:
    _, stuck = node.run()
    hide_cgroups(node, stuck)
    identifier = ProcessIdentifier(node.table, node.runtime)
    with node.stuck(stuck):
        async with asyncio.timeout(AMPLE_S):
            answer = await identifier.identify(stuck.pids, node.now(), YEARS_S)
    assert reasons(answer) == {Unattributed.UNDETERMINED}


class SlowRuntime:
    """Lists its one container when ``answers`` is set, which a question may not live to see."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.asked = 0

    async def containers(self, timeout_s: float) -> Mapping[ContainerId, RuntimeContainer]:
        self.asked += 1
        try:
            async with asyncio.timeout(timeout_s):
                await self.answers.wait()
        except TimeoutError:
            raise RuntimeUnavailableError(f"no answer in {timeout_s} s") from None
        return {ContainerId("c"): RuntimeContainer(ContainerId("c"))}

    async def running(self, timeout_s: float) -> tuple[ContainerId, ...]:
        raise AssertionError("nobody asks for these")

    async def pids(self, container: ContainerId, timeout_s: float) -> tuple[Pid, ...]:
        raise AssertionError("nobody asks for these")

    def generation(self) -> int | None:
        return None

    async def close(self) -> None:
        """Holds nothing."""


async def test_a_list_that_had_no_time_is_asked_for_again_by_who_has() -> None:
    runtime = SlowRuntime()
    known = KnownContainers(runtime)
    first = asyncio.create_task(known.complete(TOO_SHORT_S))
    await until(lambda: runtime.asked > 0)
    hurried = asyncio.create_task(known.complete(TOO_SHORT_S * 1.5))
    patient = asyncio.create_task(known.complete(AMPLE_S))
    assert (await first).problem
    assert (await hurried).problem
    runtime.answers.set()
    listing = await patient
    assert listing.problem == ""
    assert set(listing.containers) == {"c"}
