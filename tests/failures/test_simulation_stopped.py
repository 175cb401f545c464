"""One simulation is stopped, by Ctrl-Z perhaps: the others can be given faults all the same."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.control import client
from simulator.control.client import ControlError
from simulator.control.meeting import About, own_folder
from simulator.control.server import ControlServer
from simulator.injection import Injection
from tests.unit.simulator.small import small

STOPPED = "999999999"
FAULT = Injection("gpu-1", (0,), lost=True)


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A simulation that listens, and says nothing."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(client, "LIMIT_S", 0.2)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(own_folder() / f"{STOPPED}.sock"))
        silent.listen()
        yield


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("named", ["", str(os.getpid())], ids=["any", "its pid"])
async def test_another_is_reached(named: str) -> None:
    world = small()
    server = ControlServer(world.cluster, About(os.getpid(), "/k", 1))
    await server.start()
    try:
        reply = await asyncio.to_thread(client.send, FAULT, named)
    finally:
        await server.stop()
    assert reply.error == ""
    assert world.cluster.nodes[world.node.name].gpus[0].lost


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("named", ["", STOPPED])
def test_it_is_told_that_it_does_not_answer(named: str) -> None:
    with pytest.raises(ControlError, match=f"simulation {STOPPED} does not answer"):
        client.send(FAULT, named)
