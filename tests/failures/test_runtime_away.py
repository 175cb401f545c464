"""Nobody listens on the runtime's socket: cgroups are believed, and the answer says so."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nodeagent.containers.containerd import Containerd, connection_problem
from nodeagent.containers.identify import IdentifyMode, ProcessIdentifier
from nodeagent.containers.identity import Unattributed
from nodeagent.containers.runtime import RuntimeUnavailableError
from nodeagent.gpus.sample import MissingKind
from tests.contract.simulated_containers import ServedNode, served_node
from tests.identifying import AMPLE_S, hide_cgroups, owned, owners, reasons


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[ServedNode]:
    async with served_node(tmp_path) as node:
        yield node


@contextmanager
def as_nobody() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_socket_is_absent(tmp_path: Path) -> None:
    containerd = Containerd(tmp_path / "absent.sock")
    with pytest.raises(RuntimeUnavailableError) as raised:
        await containerd.containers(AMPLE_S)
    assert f"containerd at {tmp_path}/absent.sock" in str(raised.value)
    assert "no such socket" in str(raised.value)
    assert "--runtime-socket" in str(raised.value)
    assert containerd.generation() is None
    await containerd.close()


async def test_nobody_listens(tmp_path: Path) -> None:
    path = tmp_path / "left-behind.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    containerd = Containerd(f"unix://{path}")
    with pytest.raises(RuntimeUnavailableError, match="is containerd running"):
        await containerd.running(AMPLE_S)
    await containerd.close()


def test_permission_denied(tmp_path: Path) -> None:
    path = tmp_path / "private.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        path.chmod(0)
        tmp_path.chmod(0)
        try:
            with as_nobody():
                problem = connection_problem(str(path))
        finally:
            tmp_path.chmod(0o700)
        assert problem is not None
        assert "permission denied" in problem
        assert connection_problem(str(path)) is None or os.geteuid() != 0


@pytest.mark.parametrize("path", ["/" + "x" * 200, "/a\0b", ""])
def test_path_is_none_of_a_socket(path: str) -> None:
    assert connection_problem(path)


async def test_other_services_answer_on_the_socket(tmp_path: Path) -> None:
    """Another program's socket, CRI-O's for example: it speaks gRPC, but not containerd's."""
    async with served_node(tmp_path) as node:
        await node.daemon.stop()
        await node.daemon.start(services=False)
        with pytest.raises(RuntimeUnavailableError, match="UNIMPLEMENTED"):
            await node.runtime.containers(AMPLE_S)


async def test_cgroups_are_believed_and_the_runtime_is_missing(node: ServedNode) -> None:
    _, container = node.run()
    foreign, host = node.run_foreign(), node.host_process()
    await node.stop_runtime()
    identifier = ProcessIdentifier(node.table, node.runtime)
    pids = [*container.pids, *foreign.pids, host]
    identification = await identifier.identify(pids, node.now(), AMPLE_S)
    assert owners(identification) == owned(container) | dict.fromkeys([*foreign.pids, host])
    assert reasons(identification, foreign.pids) == {Unattributed.OTHER_RUNTIME}
    assert reasons(identification, [host]) == {Unattributed.HOST_PROCESS}
    (missing,) = identification.missing
    assert (missing.kind, missing.subject) == (MissingKind.RUNTIME, "")
    assert str(node.daemon.socket) in missing.reason


@pytest.mark.parametrize("mode", [IdentifyMode.AUTO, IdentifyMode.RUNTIME])
async def test_processes_whose_cgroup_tells_nothing_are_undetermined(
    node: ServedNode, mode: IdentifyMode
) -> None:
    _, container = node.run()
    hide_cgroups(node, container)
    await node.stop_runtime()
    identifier = ProcessIdentifier(node.table, node.runtime, mode)
    identification = await identifier.identify(container.pids, node.now(), AMPLE_S)
    assert reasons(identification) == {Unattributed.UNDETERMINED}
    assert {missing.kind for missing in identification.missing} == {MissingKind.RUNTIME}


async def test_what_was_learnt_before_stays_true(node: ServedNode) -> None:
    _, container = node.run()
    identifier = ProcessIdentifier(node.table, node.runtime)
    await identifier.identify(container.pids, node.now(), AMPLE_S)
    await node.stop_runtime()
    identification = await identifier.identify(container.pids, node.now(), AMPLE_S)
    assert owners(identification) == owned(container)
    assert identification.containers[container.id].pod == container.pod.name
    assert identification.missing == ()


async def test_containers_made_meanwhile_are_known_once_it_is_back(node: ServedNode) -> None:
    identifier = ProcessIdentifier(node.table, node.runtime)
    _, before = node.run()
    await identifier.identify(before.pids, node.now(), AMPLE_S)
    await node.stop_runtime()
    _, meanwhile = node.run()
    away = await identifier.identify(meanwhile.pids, node.now(), AMPLE_S)
    assert owners(away) == owned(meanwhile)
    assert meanwhile.id not in away.containers
    await node.start_runtime()
    async with asyncio.timeout(AMPLE_S):
        while True:
            back = await identifier.identify(meanwhile.pids, node.now(), AMPLE_S)
            if meanwhile.id in back.containers:
                break
            await asyncio.sleep(0.01)
    assert owners(back) == owned(meanwhile)
    assert back.missing == ()
