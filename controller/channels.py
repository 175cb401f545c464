"""One gRPC channel for each node agent: made on demand, dropped with the node or its address."""

from __future__ import annotations

import asyncio
import time
from ipaddress import ip_address

import grpc

from controller.cache.cluster import ClusterCache
from controller.cache.records import NodeRecord
from gpupods.addresses import join_host_port
from gpupods.identity import NodeName
from gpupods.serving import MAX_MESSAGE_BYTES

CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # A node that has vanished without closing its connection is noticed in this time, also
    # while nobody asks: the next question should not be the one that finds out.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # An agent that was restarted is reached again this soon.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Nodes are never behind the proxy that the environment may name.
    ("grpc.enable_http_proxy", 0),
)

CLOSE_GRACE_S = 10.0
"""Calls that run on a channel being dropped may end in this time."""

LATELY_S = 15.0
"""An agent that answered in this time, and is not reached now, is thought to come back."""


class NodeGoneError(Exception):
    """The cluster does not have this node any more, or the node this address."""


class NodeChannels:
    """The channels to all node agents, by node and address."""

    def __init__(self, cache: ClusterCache, port: int) -> None:
        self._cache = cache
        self._port = port
        self._channels: dict[NodeName, dict[str, grpc.aio.Channel]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        # Which address of a node answered last, and when.
        self._answered: dict[NodeName, tuple[str, float]] = {}
        cache.subscribe_nodes(self._follow_node)

    def get(self, node: NodeName, address: str) -> grpc.aio.Channel:
        """The channel to the agent of ``node`` at ``address``; it connects when first used.

        Raises:
            NodeGoneError: since it was looked up; nobody would drop a channel made for it now.
        """
        known = self._cache.node(node)
        if known is None or address not in known.internal_ips:
            raise NodeGoneError
        of_node = self._channels.setdefault(node, {})
        channel = of_node.get(address)
        if channel is None:
            target = agent_target(address, self._port)
            channel = grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS)
            of_node[address] = channel
        return channel

    def note_answer(self, node: NodeName, address: str) -> None:
        """The agent of ``node`` has just answered at ``address``."""
        if node in self._channels:
            self._answered[node] = address, time.monotonic()

    def answered_lately(self, node: NodeName) -> str | None:
        """The address at which the agent of ``node`` answered not long ago; None if it did not."""
        address, when = self._answered.get(node, ("", 0.0))
        return address if address and time.monotonic() - when < LATELY_S else None

    async def wait_until_reached(self, node: NodeName, address: str, limit_s: float) -> bool:
        """Wait for an agent that is away; False if it is not back in ``limit_s`` seconds.

        It is not waited for again, then, before it has answered once more.
        """
        channel = self._channels.get(node, {}).get(address)
        if channel is None:
            return False
        try:
            async with asyncio.timeout(limit_s):
                await channel.channel_ready()
        except (TimeoutError, grpc.aio.UsageError):
            # The latter: the channel was dropped meanwhile, with its node or address.
            self._answered.pop(node, None)
            return False
        return True

    def at(self, address: str) -> str:
        """Where the agent at ``address`` is, for people."""
        return join_host_port(address, self._port)

    def count(self) -> int:
        """How many channels there are."""
        return sum(len(of_node) for of_node in self._channels.values())

    async def close(self) -> None:
        """Close them all."""
        for node in list(self._channels):
            self._drop(node, keep=())
        await asyncio.gather(*self._closing)

    def _follow_node(self, name: NodeName, node: NodeRecord | None) -> None:
        self._drop(name, keep=node.internal_ips if node else ())

    def _drop(self, node: NodeName, keep: tuple[str, ...]) -> None:
        if self._answered.get(node, ("", 0.0))[0] not in keep:
            self._answered.pop(node, None)
        of_node = self._channels.pop(node, {})
        kept = {address: channel for address, channel in of_node.items() if address in keep}
        if kept:
            self._channels[node] = kept
        for address, channel in of_node.items():
            if address not in kept:
                task = asyncio.get_running_loop().create_task(channel.close(CLOSE_GRACE_S))
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)


def agent_target(address: str, port: int) -> str:
    """A gRPC target that needs no name look-up: ``ipv4:10.0.0.1:50051``, ``ipv6:[fd00::1]:50051``.

    An address that is no IP (no kubelet reports one) is left to gRPC's resolver.
    """
    try:
        version = ip_address(address.partition("%")[0]).version
    except ValueError:
        return join_host_port(address, port)
    return f"ipv{version}:{join_host_port(address, port)}"
