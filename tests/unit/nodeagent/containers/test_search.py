"""Searching processes in containers, and remembering what was found."""

from __future__ import annotations

from gpupods.identity import ContainerId, Pid
from nodeagent.containers.decide import ProcessKey
from nodeagent.containers.known import KnownContainers
from nodeagent.containers.owners import KEPT_AT_MOST, RETRY_S, Owners, missing_from
from nodeagent.containers.search import Findings, search
from nodeagent.gpus.sample import MissingKind
from simulator.changes import stick_shim
from simulator.runtime import SimulatedRuntime
from tests.contract.container_nodes import Made
from tests.contract.simulated_containers import SimulatedNode

AMPLE_S = 30.0


class CountingRuntime(SimulatedRuntime):
    """Notes for which containers it is asked."""

    def __init__(self, node: SimulatedNode) -> None:
        super().__init__(node.node)
        self.asked: list[ContainerId] = []

    async def pids(self, container: ContainerId, timeout_s: float) -> tuple[Pid, ...]:
        self.asked.append(container)
        return await super().pids(container, timeout_s)


class World:
    """A simulated node, owners in it, and a clock that stands."""

    def __init__(self) -> None:
        self.node = SimulatedNode()
        self.runtime = CountingRuntime(self.node)
        self.now = 1000.0
        known = KnownContainers(self.runtime, lambda: self.now)
        self.owners = Owners(self.runtime, known, lambda: self.now)

    async def found(self, *processes: ProcessKey) -> list[ContainerId | None]:
        found = await self.owners.find(processes, AMPLE_S)
        return [found[each].container for each in processes]


def key(pid: Pid, start_boot_s: float = 7.0, cgroup: str = "/") -> ProcessKey:
    return ProcessKey(pid, start_boot_s, cgroup)


async def test_processes_are_found_in_their_containers() -> None:
    node = SimulatedNode()
    made = [node.run()[1] for _ in range(40)]
    wanted = [each.pids[-1] for each in made]
    findings = await search(node.runtime, [each.id for each in made], wanted, AMPLE_S)
    assert findings.owners == {each.pids[-1]: each.id for each in made}
    assert findings.is_whole


async def test_nobody_is_asked_when_all_are_found() -> None:
    node = SimulatedNode()
    runtime = CountingRuntime(node)
    made = [node.run()[1] for _ in range(40)]
    await search(runtime, [each.id for each in made], made[0].pids, AMPLE_S)
    assert len(runtime.asked) < len(made)


async def test_without_containers_nothing_is_found() -> None:
    findings = await search(SimulatedNode().runtime, [], [Pid(1)], AMPLE_S)
    assert findings == Findings()
    assert findings.is_whole


async def test_containers_not_asked_in_time_are_counted() -> None:
    node = SimulatedNode()
    made = [node.run()[1] for _ in range(100)]
    for container in node.node.containers.values():
        stick_shim(container)
    findings = await search(node.runtime, [each.id for each in made], [Pid(1)], 0.2)
    assert not findings.is_whole
    assert len(findings.failed) + findings.unasked == len(made)
    assert findings.unasked > 0


async def test_pause_containers_come_last() -> None:
    world = World()
    made = [world.node.run() for _ in range(3)]
    await world.found(key(Pid(999_999)))
    order = world.runtime.asked
    assert len(order) == len(set(order)) == 8
    sandboxes = {sandbox.id for sandbox, _ in made}
    assert sandboxes.isdisjoint(order[:4])


async def test_what_was_found_is_not_searched_again() -> None:
    world = World()
    _, container = world.node.run()
    host = Pid(999_999)
    for _ in range(3):
        assert await world.found(key(container.pids[0]), key(host)) == [container.id, None]
        world.now += 10 * RETRY_S
    assert len(world.runtime.asked) == len(world.node.node.containers)


async def test_another_process_of_the_same_pid_is_searched() -> None:
    world = World()
    _, container = world.node.run()
    await world.found(key(container.pids[0]))
    before = len(world.runtime.asked)
    await world.found(key(container.pids[0], start_boot_s=8.0))
    await world.found(key(container.pids[0], cgroup="/.."))
    assert len(world.runtime.asked) > before + 1


async def test_what_is_remembered_is_bounded() -> None:
    world = World()
    for first in range(0, 3 * KEPT_AT_MOST, KEPT_AT_MOST // 2):
        await world.found(*(key(Pid(100_000 + first + n)) for n in range(KEPT_AT_MOST // 2)))
    assert len(world.owners._kept) <= KEPT_AT_MOST


def failed(count: int) -> dict[ContainerId, str]:
    return {ContainerId(f"{number:064x}"): "no answer in 1 s" for number in range(count)}


def test_each_container_that_failed_is_missing() -> None:
    missing = missing_from(Findings(failed=failed(2), asked=50))
    assert [each.subject for each in missing] == list(failed(2))
    assert {each.kind for each in missing} == {MissingKind.CONTAINER}


def test_it_is_the_runtime_that_is_missing_when_every_container_failed() -> None:
    (missing,) = missing_from(Findings(failed=failed(50), asked=50))
    assert (missing.kind, missing.subject) == (MissingKind.RUNTIME, "")
    assert "no answer in 1 s" in missing.reason


def test_containers_that_were_not_asked_are_missing_in_one_line() -> None:
    (missing,) = missing_from(Findings(asked=50, unasked=7))
    assert missing.kind is MissingKind.CONTAINER
    assert missing.reason.startswith("7 containers")


def test_nothing_is_missing_after_a_whole_search() -> None:
    assert missing_from(Findings(asked=50)) == ()


async def test_a_container_deleted_during_the_search_is_no_failure() -> None:
    world = World()
    _, container = world.node.run()
    gone: Made = world.node.run()[1]
    ids = [gone.id, container.id]
    world.node.delete(gone)
    findings = await search(world.runtime, ids, container.pids, AMPLE_S)
    assert set(findings.owners.values()) == {container.id}
    assert findings.is_whole
