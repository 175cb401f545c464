"""Another runtime's containers come and go for months, and containerd's own never change."""

from __future__ import annotations

import pytest

from gpupods.identity import ContainerId
from nodeagent.containers.known import UNKNOWN_AT_MOST
from tests.unit.nodeagent.containers.test_known import AMPLE_S, World


@pytest.mark.parametrize("tells_changes", [True, False])
async def test_no_more_of_them_are_remembered_than_needed(*, tells_changes: bool) -> None:
    world = World()
    world.runtime.tells_changes = tells_changes
    stays = ContainerId("f" * 64)
    for number in range(2 * UNKNOWN_AT_MOST):
        world.later(10.0)
        await world.known.including([stays, ContainerId(f"{number:064x}")], AMPLE_S)
        assert len(world.known._unknown) <= UNKNOWN_AT_MOST
    lists = world.runtime.lists
    await world.known.including([stays], AMPLE_S)
    assert world.runtime.lists == lists, "the one that stays is asked for no more"
