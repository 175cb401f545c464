from __future__ import annotations

import asyncio
import threading

import pytest

from gpupods.kube.deadline import OneAtATime, start


def fail() -> None:
    raise KeyError("why")


def test_the_result_and_the_error_come_back() -> None:
    assert start(lambda: 7).result(10) == 7
    with pytest.raises(KeyError, match="why"):
        start(fail).result(10)


async def test_a_call_that_hangs_is_given_up_and_holds_its_place() -> None:
    release = threading.Event()
    calls = OneAtATime()
    with pytest.raises(TimeoutError):
        await calls.call(lambda: release.wait(60), 0.01)
    with pytest.raises(TimeoutError, match="still hangs"):
        await calls.call(lambda: True, 10)
    release.set()
    assert calls._busy is not None
    await asyncio.wrap_future(calls._busy)
    assert await calls.call(lambda: 7, 10) == 7
