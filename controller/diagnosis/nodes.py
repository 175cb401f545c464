"""Asks all node agents for their diagnosis, many at once, within one deadline for all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import grpc

from controller.channels import NodeChannels, NodeGoneError
from controller.diagnosis import judge
from controller.diagnosis.judge import Expectation
from controller.fan_out import fan_out
from gpupods.diagnosis import (
    METHOD,
    Asked,
    Check,
    clock_check,
    from_messages,
    ok,
    version_check,
)
from gpupods.v1alpha1 import diagnosis_pb2 as pb
from gpupods.version import VERSION

AT_ONCE = 256
"""Agents that are asked at the same time."""

LONGEST_S = 5.0
"""That one of them may take; a driver that hangs is told of well within it."""

WENT_AWAY = "the node went away while its agent was asked"

NOT_REACHED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """One node: ``checks`` is empty where no agent answers, and none is expected."""

    expectation: Expectation
    address: str = ""
    version: str = ""
    checks: tuple[Check, ...] = ()
    answered: bool = False


class AgentsDiagnosis:
    """Asks over ``channels``.

    ``clock`` is the controller's wall clock, in seconds since the epoch.
    """

    def __init__(
        self, channels: NodeChannels, agent_port: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._channels = channels
        self._agent_port = agent_port
        self._clock = clock

    async def ask(self, expectations: Sequence[Expectation], limit_s: float) -> list[Diagnosed]:
        """Ask the agent of each node; all is over within ``limit_s``."""
        ends = time.monotonic() + limit_s
        return await fan_out(expectations, AT_ONCE, lambda each: self._node(each, ends))

    async def _node(self, expectation: Expectation, ends: float) -> Diagnosed:
        node = expectation.node
        if not node.internal_ips:
            checks = (judge.no_address_check(node),) if expectation.is_expected else ()
            return Diagnosed(expectation, checks=checks)
        problem = "it was not asked in time"
        for address in node.internal_ips:
            limit_s = min(ends - time.monotonic(), LONGEST_S)
            if limit_s <= 0:
                break
            try:
                return await self._agent(expectation, address, limit_s)
            except grpc.aio.AioRpcError as error:
                at = self._channels.at(address)
                if error.code() not in NOT_REACHED:
                    return Diagnosed(expectation, at, checks=(_odd(error),), answered=True)
                problem = _problem(error, at, limit_s)
            except asyncio.CancelledError:
                if (task := asyncio.current_task()) and task.cancelling():
                    raise
                problem = WENT_AWAY
            except NodeGoneError:
                problem = WENT_AWAY
        checks = ()
        if expectation.is_expected:
            checks = (judge.unanswered_check(expectation, problem, self._agent_port),)
        return Diagnosed(expectation, self._channels.at(node.internal_ips[0]), checks=checks)

    async def _agent(self, expectation: Expectation, address: str, limit_s: float) -> Diagnosed:
        call = self._channels.get(expectation.node.name, address).unary_unary(
            METHOD,
            request_serializer=pb.DiagnoseRequest.SerializeToString,
            response_deserializer=pb.DiagnoseResponse.FromString,
        )
        sent = self._clock()
        response: pb.DiagnoseResponse = await call(pb.DiagnoseRequest(), timeout=limit_s)
        asked = Asked(sent, self._clock())
        theirs = response.answered_at.ToNanoseconds() / 1e9
        own = (
            ok(judge.AGENT, "answers"),
            version_check(response.version, VERSION, "the controller"),
            clock_check(theirs, asked, "the controller's"),
        )
        return Diagnosed(
            expectation,
            self._channels.at(address),
            response.version,
            (*own, *from_messages(response.checks)),
            answered=True,
        )


def _problem(error: grpc.aio.AioRpcError, at: str, limit_s: float) -> str:
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"{at} did not answer within {limit_s:.1f} s"
    return f"{at} was not reached: {error.details() or 'no details'}"


def _odd(error: grpc.aio.AioRpcError) -> Check:
    return judge.silent_about_itself_check(f"{error.code().name} {error.details() or ''}".strip())
