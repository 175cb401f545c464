"""The API server refuses a binding: the scheduler is told why, and the memory is free at once."""

from __future__ import annotations

import pytest

from tests.failures.extending import CARD, extending, refuse


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (404, 'pods "first" not found'),
        (409, "pod first is being deleted, cannot be assigned to a host"),
        (422, "Binding is invalid"),
        (429, "too many requests"),
    ],
)
async def test_refused(code: int, message: str) -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        extended.pod("second", memory=CARD)
        extended.server.next_answers.append(refuse(code, message))
        error = await extended.bind("first")
        assert f"{code} {message}" in error
        assert await extended.bind("second") == ""
        assert extended.given("second") == "0"


async def test_the_right_is_missing() -> None:
    async with extending() as extended:
        extended.node()
        extended.pod("first", memory=1)
        extended.server.next_answers.append(refuse(403, "forbidden"))
        assert "must allow create of pods/binding" in await extended.bind("first")


async def test_another_scheduler_was_first() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        extended.node("node-2", gpus=1)
        extended.pod("first", memory=CARD)
        assert await extended.bind("first", "node-1") == ""
        error = await extended.bind("first", "node-2")
        assert "already assigned" in error
        extended.pod("second", memory=CARD)
        assert await extended.bind("second", "node-2") == "", "nothing is kept there"
        extended.show("first")
        assert "is on node node-1 already" in await extended.bind("first", "node-2")
