"""Asks one service for its diagnosis. That it does not answer is a finding, not an error."""

from __future__ import annotations

import time
from collections.abc import Callable

import grpc

from gpupods.client.channel import channel_options
from gpupods.diagnosis import Asked, failed
from gpupods.doctor.report import Finding, Part, agent_findings, controller_findings
from gpupods.v1alpha1 import diagnosis_pb2 as pb
from gpupods.v1alpha1 import diagnosis_pb2_grpc as pb_grpc

_CONTROLLER_ADVICE = {
    grpc.StatusCode.UNAVAILABLE: (
        "does a gpupods controller listen there? --server is its gRPC port, not the HTTP one; in a "
        "cluster: kubectl get pods -n gpupods-system"
    ),
    grpc.StatusCode.DEADLINE_EXCEEDED: "--timeout waits longer; its log may tell what it waits for",
    grpc.StatusCode.UNIMPLEMENTED: (
        "it is no gpupods controller, or one that knows no diagnosis yet: upgrade it"
    ),
}
_AGENT_ADVICE = _CONTROLLER_ADVICE | {
    grpc.StatusCode.UNAVAILABLE: (
        "does the node agent listen there (--grpc-listen, by default port 50051)? Its log tells "
        "why not: kubectl logs -n gpupods-system -l app.kubernetes.io/component=nodeagent"
    ),
    grpc.StatusCode.UNIMPLEMENTED: (
        "it is no gpupods node agent, or one that knows no diagnosis yet: upgrade it"
    ),
}


def ask_controller(
    target: str, timeout_s: float, address: str = "", clock: Callable[[], float] = time.time
) -> tuple[Finding, ...]:
    """What the controller at ``target`` says of itself and of its nodes.

    Args:
        target: As `gpupods.client.channel.channel_target` gave it.
        timeout_s: For all of it.
        address: The same for people; empty where it is not by an address that it is reached.
        clock: The wall clock here, in seconds since the epoch.
    """
    try:
        answer, asked = _ask(target, timeout_s, clock)
    except grpc.RpcError as error:
        advice = _CONTROLLER_ADVICE.get(error.code(), "")
        check = failed("controller", _words(error, address or "it", timeout_s), advice)
        return (Finding(Part.CONTROLLER, "", address, check),)
    return controller_findings(answer, asked, address)


def ask_agent(
    target: str, timeout_s: float, clock: Callable[[], float] = time.time
) -> tuple[Finding, ...]:
    """What the node agent at ``target`` says of itself and of its node."""
    try:
        answer, asked = _ask(target, timeout_s, clock)
    except grpc.RpcError as error:
        advice = _AGENT_ADVICE.get(error.code(), "")
        check = failed("agent", _words(error, target, timeout_s), advice)
        return (Finding(Part.NODE, "", target, check),)
    return agent_findings(answer, asked, target)


def _ask(
    target: str, timeout_s: float, clock: Callable[[], float]
) -> tuple[pb.DiagnoseResponse, Asked]:
    with grpc.insecure_channel(target, channel_options(target)) as channel:
        _connect(channel, timeout_s)
        sent = clock()
        answer = pb_grpc.DiagnosisServiceStub(channel).Diagnose(
            pb.DiagnoseRequest(), timeout=timeout_s
        )
        received = clock()
    return answer, Asked(sent, received)


def _connect(channel: grpc.Channel, timeout_s: float) -> None:
    """Connect first: what that takes would count as doubt about the other clock."""
    try:
        grpc.channel_ready_future(channel).result(timeout=min(timeout_s, 1.0))
    except grpc.FutureTimeoutError:
        return  # the call itself tells why


def _words(error: grpc.RpcError, shown: str, timeout_s: float) -> str:
    code, details = error.code(), error.details() or "no details"
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"{shown} did not answer within {timeout_s:g} s"
    if code is grpc.StatusCode.UNAVAILABLE:
        return f"{shown} was not reached: {details}"
    return f"{shown}: {code.name} {details}"
