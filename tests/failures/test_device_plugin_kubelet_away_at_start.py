"""The agent is there before the kubelet: it waits, and is registered once the kubelet listens."""

from __future__ import annotations

import socket

import pytest

from gpupods.kube.backoff import Backoff
from tests.pluginbed import bed, sharing, until


async def test_it_registers_when_the_kubelet_comes() -> None:
    async with bed(kubelet=False) as made:
        await until(made.plugin.cards)
        assert list(made.folder.iterdir()) == []
        await made.kubelet.start()
        await made.until_offered()
        pod = sharing("one", 5, "0")
        made.bind(pod)
        given = await made.run(pod)
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(0)


async def test_a_kubelet_that_does_not_answer_yet_is_tried_again() -> None:
    async with bed(kubelet=False) as made:
        (made.folder / "kubelet.sock").write_text("")  # nobody listens there
        await until(lambda: made.plugin.endpoints[0].attempts > 1)
        (made.folder / "kubelet.sock").unlink()
        await made.kubelet.start()
        await made.until_offered()
        # What was made for attempts that failed is not left there.
        assert len(list(made.folder.glob("gpupods-*"))) == len(made.plugin.endpoints)


async def test_one_that_was_killed_long_ago_does_not_delay_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its socket is there yet, and the attempts to reach it have become few."""
    monkeypatch.setattr(Backoff, "next_delay_s", lambda *_: 3600.0)
    async with bed(kubelet=False) as made:
        with socket.socket(socket.AF_UNIX) as killed:
            killed.bind(str(made.folder / "kubelet.sock"))
        await until(lambda: all(each.attempts == 1 for each in made.plugin.endpoints))
        await until(lambda: all(each.problem for each in made.plugin.endpoints))
        await made.kubelet.start()
        await made.until_offered()
