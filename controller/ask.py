"""Asks the agent of one node, at each of the node's addresses in turn, within a deadline.

An agent that answered a moment ago and is not reached now is most likely being replaced by a new
version: it is waited for a little, so that a rolling update fails nobody's question.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol

import grpc

from controller.channels import NodeChannels, NodeGoneError
from gpupods.errors import StatusError, deadline_exceeded, unavailable
from gpupods.identity import NodeName
from gpupods.v1alpha1 import gpupods_pb2 as pb

METHOD = "/gpupods.v1alpha1.GpuPodsService/GetGpuPods"

PATIENCE_S = 3.0
"""How long an agent that is being replaced is waited for."""
PATIENCE_SHARE = 0.6
"""Of the time there is, at most: the rest is for the answer, or for the caller's own retries."""


class AgentPlace(Protocol):
    """Where an agent is to be found."""

    @property
    def node(self) -> NodeName:
        """Its node."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """The node's InternalIPs in its own order, at least one."""

    @property
    def asked_for(self) -> str:
        """Said in messages, after the node's name: " (of pod team-a/train-0)", or nothing."""


@dataclass(frozen=True, slots=True)
class AgentOfNode:
    """An agent that is asked for its node's own sake."""

    node: NodeName
    addresses: tuple[str, ...]
    asked_for: str = ""


async def ask_agent(
    channels: NodeChannels, where: AgentPlace, request: pb.GetGpuPodsRequest, limit_s: float
) -> pb.GetGpuPodsResponse:
    """Call GetGpuPods on the agent of a node.

    A dual-stack node's second address is tried when the first cannot be reached.

    Raises:
        StatusError: UNAVAILABLE if no address was reached, DEADLINE_EXCEEDED if the agent did
            not answer in ``limit_s`` seconds, else the agent's own status; the message names
            node and address.
    """
    ends = time.monotonic() + limit_s
    try:
        return await _ask_in_turn(channels, where, request, ends)
    except StatusError as error:
        address = channels.answered_lately(where.node)
        if error.code is not grpc.StatusCode.UNAVAILABLE or address is None:
            raise
        remaining_s = ends - time.monotonic()
        if not await channels.wait_until_reached(
            where.node, address, min(PATIENCE_S, PATIENCE_SHARE * remaining_s)
        ):
            raise
    return await _ask(channels, where, address, request, ends - time.monotonic())


async def _ask_in_turn(
    channels: NodeChannels, where: AgentPlace, request: pb.GetGpuPodsRequest, ends: float
) -> pb.GetGpuPodsResponse:
    for address in where.addresses[:-1]:
        try:
            return await _ask(channels, where, address, request, ends - time.monotonic())
        except StatusError as error:
            if error.code is not grpc.StatusCode.UNAVAILABLE:
                raise
    return await _ask(channels, where, where.addresses[-1], request, ends - time.monotonic())


async def _ask(
    channels: NodeChannels,
    where: AgentPlace,
    address: str,
    request: pb.GetGpuPodsRequest,
    limit_s: float,
) -> pb.GetGpuPodsResponse:
    try:
        channel = channels.get(where.node, address)
    except NodeGoneError:
        raise _gone(where, address) from None
    call = channel.unary_unary(
        METHOD,
        request_serializer=pb.GetGpuPodsRequest.SerializeToString,
        response_deserializer=pb.GetGpuPodsResponse.FromString,
    )
    try:
        response: pb.GetGpuPodsResponse = await call(request, timeout=max(limit_s, 0.001))
    except grpc.aio.AioRpcError as error:
        raise _explain(error, where, channels.at(address), limit_s) from None
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) and task.cancelling():
            raise
        # The channel was dropped under the call: the node or its address has just gone.
        raise _gone(where, address) from None
    channels.note_answer(where.node, address)
    return response


def _gone(where: AgentPlace, address: str) -> StatusError:
    return unavailable(
        f"the address {address} of node {where.node!r} went away while its agent was asked; "
        "try again"
    )


def _explain(
    error: grpc.aio.AioRpcError, where: AgentPlace, at: str, limit_s: float
) -> StatusError:
    code, details = error.code(), error.details() or "no details"
    agent = f"the agent of node {where.node!r}{where.asked_for} at {at}"
    if code is grpc.StatusCode.UNAVAILABLE:
        return unavailable(
            f"{agent} was not reached: {details}; does the node agent's pod run there, and may "
            "the controller reach that port?"
        )
    if code is grpc.StatusCode.CANCELLED:
        # Not by us: gRPC ends so what a server that stops had not begun.
        return unavailable(f"{agent} stopped before it answered; try again in a moment")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return deadline_exceeded(f"{agent} did not answer within {limit_s:.1f} s")
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return StatusError(
            grpc.StatusCode.INTERNAL, f"what listens at {at} is not a node agent: {details}"
        )
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        # The argument was the controller's own map, so the caller cannot mend it.
        return StatusError(grpc.StatusCode.INTERNAL, f"{agent} refused the map: {details}")
    return StatusError(code, f"{agent} failed: {details}")
