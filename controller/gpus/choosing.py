"""Which nodes are asked for their GPUs, and in which order. Pure: look-ups in the cache."""

from __future__ import annotations

from collections.abc import Sequence

import grpc

from controller.cache.cluster import ClusterCache
from controller.cache.records import NodeRecord
from controller.diagnosis.judge import agent_pod
from controller.resolve import check_synced
from gpupods.errors import Reason, StatusError
from gpupods.identity import NodeName
from gpupods.logs import shorten
from gpupods.near_nodes import hint_on_node

NAMES_SHOWN = 5
LONGEST_NAME = 253


def choose(cache: ClusterCache, names: Sequence[str]) -> list[NodeRecord]:
    """The nodes named, or all that have GPUs.

    Those first whose Node objects name an unfit GPU, as the time may not suffice for all.

    Raises:
        StatusError: UNAVAILABLE before the cache has been filled; NOT_FOUND for a name that the
            cluster does not have.
    """
    check_synced(cache)
    nodes = _named(cache, names) if names else [n for n in cache.nodes() if has_gpus(cache, n)]
    return sorted(nodes, key=lambda node: (not says_unfit(node), node.name))


def has_gpus(cache: ClusterCache, node: NodeRecord) -> bool:
    """Whether anything says so: labels, capacity, annotations, or an agent's pod on it."""
    return node.has_gpus or says_unfit(node) or agent_pod(cache, node) is not None


def says_unfit(node: NodeRecord) -> bool:
    """Whether the Node object names a GPU as unfit."""
    return node.unhealthy_ids is not None or node.gpu_health is not None


def _named(cache: ClusterCache, names: Sequence[str]) -> list[NodeRecord]:
    found = {name: cache.node(NodeName(name)) for name in names}
    unknown = [name for name, node in found.items() if node is None]
    if not unknown:
        return [node for node in found.values() if node is not None]
    sought = shorten(unknown[0], LONGEST_NAME)
    hint = hint_on_node(sought, [node.name for node in cache.nodes()])
    shown = ", ".join(repr(shorten(name, LONGEST_NAME)) for name in unknown[:NAMES_SHOWN])
    more = f" and {len(unknown) - NAMES_SHOWN} more" if len(unknown) > NAMES_SHOWN else ""
    raise StatusError(
        grpc.StatusCode.NOT_FOUND,
        f"the cluster has no node {shown}{more}; {hint}",
        Reason.NODE_NOT_FOUND,
    )
