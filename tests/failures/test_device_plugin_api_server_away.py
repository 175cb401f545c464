"""The API server is away while a pod asks: the pod is told so, and gets no GPU by guess."""

from __future__ import annotations

import asyncio

import pytest

from simulator.kubelet_plugins import PodRefusedError
from tests.pluginbed import bed, sharing, until


async def test_the_pod_is_refused_with_the_reason() -> None:
    async with bed() as made:
        pod = sharing("one", 5, "1")
        made.bind(pod)
        await made.server.go_away()
        with pytest.raises(PodRefusedError, match=r"UNAVAILABLE.*which pod this is for cannot be"):
            await made.run(pod)
        await made.server.come_back()
        given = await made.run(pod)
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(1)


async def test_a_moment_of_its_absence_is_waited_for() -> None:
    async with bed(look_for_s=20.0) as made:
        pod = sharing("one", 5, "1")
        made.bind(pod)
        await made.server.go_away()
        running = asyncio.create_task(made.run(pod))
        await asyncio.sleep(0.2)
        assert not running.done()
        await made.server.come_back()
        given = await running
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(1)


async def test_the_mark_that_could_not_be_written_is_written_later() -> None:
    async with bed() as made:
        pod, other = sharing("one", 5, "1"), sharing("other", 5, "0", 2)
        made.bind(pod, other)
        made.server.faults.denied.add(("patch", "pods"))
        await made.run(pod)
        assert not made.is_assigned(pod)
        # It has its GPU all the same, and nobody else is taken for it.
        given = await made.run(other)
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(0)
        made.server.faults.denied.clear()
        await until(lambda: made.is_assigned(pod) and made.is_assigned(other))
