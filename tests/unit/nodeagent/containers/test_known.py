"""How often the runtime is asked for its containers, and what is believed meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from gpupods.identity import ContainerId
from nodeagent.containers.known import BLIND_TRUST_S, KnownContainers
from nodeagent.containers.runtime import RuntimeContainer, RuntimeUnavailableError
from simulator.changes import set_runtime_fault
from simulator.kinds import RuntimeFault
from simulator.runtime import SimulatedRuntime
from tests.contract.simulated_containers import SimulatedNode

AMPLE_S = 30.0
ELSEWHERE = ContainerId("e" * 64)


class CountingRuntime(SimulatedRuntime):
    """Counts the lists it gives, and can keep its generation to itself."""

    lists = 0
    tells_changes = True

    async def containers(self, timeout_s: float) -> Mapping[ContainerId, RuntimeContainer]:
        self.lists += 1
        await asyncio.sleep(0)
        return await super().containers(timeout_s)

    def generation(self) -> int | None:
        return super().generation() if self.tells_changes else None


class World:
    """A simulated node, what is known of it, and a clock that stands."""

    def __init__(self) -> None:
        self.node = SimulatedNode()
        self.runtime = CountingRuntime(self.node.node)
        self.now = 1000.0
        self.known = KnownContainers(self.runtime, lambda: self.now)

    def later(self, seconds: float = 0.001) -> None:
        self.now += seconds


async def test_a_list_is_asked_for_once_while_nothing_changes() -> None:
    world = World()
    _, container = world.node.run()
    for _ in range(5):
        world.later()
        listing = await world.known.including([container.id], AMPLE_S)
        assert listing.containers[container.id].pod == container.pod.name
    assert world.runtime.lists == 1


async def test_a_change_alone_makes_no_call_for_containers_that_are_known() -> None:
    world = World()
    _, container = world.node.run()
    await world.known.including([container.id], AMPLE_S)
    world.node.run()
    world.later()
    await world.known.including([container.id], AMPLE_S)
    assert world.runtime.lists == 1


async def test_a_new_container_makes_one_call() -> None:
    world = World()
    await world.known.including([], AMPLE_S)
    for _ in range(3):
        _, container = world.node.run()
        world.later()
        assert container.id in (await world.known.including([container.id], AMPLE_S)).containers
    assert world.runtime.lists == 3


async def test_a_container_whose_event_is_under_way_still_is_found() -> None:
    world = World()
    await world.known.complete(AMPLE_S)
    _, container = world.node.run()
    world.node.node.generation -= 3  # nothing was heard of it yet
    world.later()
    assert container.id in (await world.known.including([container.id], AMPLE_S)).containers


async def test_a_container_asked_for_in_vain_is_asked_for_again_after_a_change_only() -> None:
    world = World()
    for _ in range(3):
        world.later()
        assert ELSEWHERE not in (await world.known.including([ELSEWHERE], AMPLE_S)).containers
    assert world.runtime.lists == 1
    world.node.run()
    world.later()
    await world.known.including([ELSEWHERE], AMPLE_S)
    assert world.runtime.lists == 2


async def test_without_word_of_changes_a_list_is_complete_for_a_moment_only() -> None:
    world = World()
    world.runtime.tells_changes = False
    await world.known.including([ELSEWHERE], AMPLE_S)
    world.later(BLIND_TRUST_S / 2)
    await world.known.including([ELSEWHERE], AMPLE_S)
    assert world.runtime.lists == 1
    world.later(BLIND_TRUST_S)
    await world.known.including([ELSEWHERE], AMPLE_S)
    assert world.runtime.lists == 2


async def test_the_list_is_asked_for_again_once_changes_are_told() -> None:
    world = World()
    for tells_changes in (False, True, True):
        world.runtime.tells_changes = tells_changes
        await world.known.including([ELSEWHERE], AMPLE_S)
        world.later()
    assert world.runtime.lists == 2


async def test_complete_sees_every_change_told_or_not() -> None:
    world = World()
    await world.known.complete(AMPLE_S)
    before = world.node.node.generation
    _, container = world.node.run()
    world.node.node.generation = before
    world.later()
    assert container.id in (await world.known.complete(AMPLE_S)).containers
    world.node.delete(container)
    world.later()
    assert container.id not in (await world.known.complete(AMPLE_S)).containers


async def test_those_who_ask_at_once_share_a_call() -> None:
    world = World()
    _, container = world.node.run()
    listings = await asyncio.gather(
        *(world.known.including([container.id], AMPLE_S) for _ in range(10))
    )
    assert world.runtime.lists == 1
    assert all(container.id in listing.containers for listing in listings)


async def test_a_call_from_before_the_question_is_not_its_answer() -> None:
    world = World()
    _, first = world.node.run()
    early = asyncio.create_task(world.known.including([first.id], AMPLE_S))
    await asyncio.sleep(0)
    assert world.runtime.lists == 1
    world.later()
    late = asyncio.create_task(world.known.including([ELSEWHERE], AMPLE_S))
    await asyncio.gather(early, late)
    assert world.runtime.lists == 2


async def test_a_runtime_that_is_away_leaves_what_was_known() -> None:
    world = World()
    _, container = world.node.run()
    await world.known.including([container.id], AMPLE_S)
    set_runtime_fault(world.node.node, RuntimeFault.DOWN)
    world.later()
    assert (await world.known.including([container.id], AMPLE_S)).problem == ""
    listing = await world.known.including([ELSEWHERE], AMPLE_S)
    assert container.id in listing.containers
    assert "connection refused" in listing.problem
    set_runtime_fault(world.node.node, RuntimeFault.NONE)
    world.later()
    assert (await world.known.including([ELSEWHERE], AMPLE_S)).problem == ""


async def test_one_who_gives_up_leaves_the_others_their_answer() -> None:
    world = World()
    _, container = world.node.run()
    leaving = asyncio.create_task(world.known.including([container.id], AMPLE_S))
    staying = asyncio.create_task(world.known.including([container.id], AMPLE_S))
    await asyncio.sleep(0)
    leaving.cancel()
    assert container.id in (await staying).containers


async def test_unavailable_is_told_with_the_runtimes_own_words() -> None:
    class Broken(CountingRuntime):
        async def containers(self, timeout_s: float) -> Mapping[ContainerId, RuntimeContainer]:
            raise RuntimeUnavailableError("the disk is full")

    known = KnownContainers(Broken(SimulatedNode().node))
    assert (await known.complete(AMPLE_S)).problem == "the disk is full"
