"""The agent starts again, in order or killed: devices are offered again, no socket is left."""

from __future__ import annotations

import contextlib
import errno
import socket

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from nodeagent.deviceplugin.sockets import KubeletFolder
from tests.pluginbed import bed, sharing, until


async def test_a_stop_leaves_no_socket_and_nothing_allocatable() -> None:
    async with bed() as made:
        await made.stop_plugin()
        assert list(made.folder.glob("gpupods-*")) == []
        await until(lambda: set(made.kubelet.allocatable.values()) == {0})
        assert made.kubelet.capacity == {GPU_MEMORY: 104, GPU_NUMBER: 2}


async def test_the_next_one_offers_the_same_and_serves() -> None:
    async with bed() as made:
        before = made.kubelet.allocatable
        old, new = sharing("old", 5, "0"), sharing("new", 5, "1", 2)
        made.bind(old)
        await made.run(old)
        await made.restart_plugin()
        await until(lambda: made.kubelet.allocatable == before)
        made.bind(new)
        given = await made.run(new)
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(1)
        # A container of before may start again: it has what it had.
        await made.kubelet.start_containers(old.ref, old.containers)


async def test_sockets_of_killed_agents_are_removed_and_no_others() -> None:
    async with bed(kubelet=False) as made:
        left = made.folder / "gpupods-gpu-memory-0badcafe.sock"
        theirs = made.folder / "nvidia-gpu.sock"
        for path in (left, theirs):
            with socket.socket(socket.AF_UNIX) as abandoned:
                abandoned.bind(str(path))
        await made.restart_plugin()
        await until(lambda: not left.exists())
        assert theirs.exists()


async def test_a_socket_whose_agent_is_too_busy_to_be_connected_to_is_not_removed() -> None:
    async with bed(kubelet=False) as made, contextlib.AsyncExitStack() as sockets:
        busy = made.folder / "gpupods-gpu-memory-0badcafe.sock"
        listening = sockets.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(busy))
        listening.listen(0)
        waiting = 0
        while waiting == 0:
            one = sockets.enter_context(socket.socket(socket.AF_UNIX))
            one.setblocking(False)  # noqa: FBT003 - its own way
            waiting = one.connect_ex(str(busy))
        assert waiting == errno.EAGAIN
        KubeletFolder(made.folder).remove_abandoned(GPU_MEMORY)
        assert busy.exists()
        listening.close()
        KubeletFolder(made.folder).remove_abandoned(GPU_MEMORY)
        assert not busy.exists()
