"""Puts a question to a server, and turns what may go wrong into the command's failures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

from gpupods.cli.failure import CommandFailed, NoAnswer, NotReached
from gpupods.cli.output.terminal import console_for
from gpupods.cli.question import KINDS, NAME_ALONE, Question, hint_on_kind
from gpupods.cli.server_choice import SERVER_VARIABLE, InCluster, Named, reachable
from gpupods.cli.waiting import waiting
from gpupods.client.blocking_client import Client
from gpupods.client.errors import (
    DeadlineExceeded,
    GpuPodsError,
    InvalidPodId,
    PodNotFound,
    Unavailable,
    Unreachable,
)
from gpupods.v1alpha1 import gpupods_pb2 as pb

HTTP_1 = "http1.x server"
"""From gRPC's message when something answered that speaks HTTP, and not HTTP/2."""
AT_AN_AGENT = "at a node agent"
"""From the message of an agent that was asked as if it were a controller."""

T = TypeVar("T")


def ask(server: Named | InCluster, question: Question) -> pb.GetGpuPodsResponse:
    """The answer of ``server``; a spinner meanwhile, for a person who waits.

    Raises:
        CommandFailed: there is none.
    """
    return ask_server(
        server,
        lambda client: client.get_gpu_pods_message(
            question.pod,
            only_this_pod=question.only_this_pod,
            max_age_s=question.max_age_s,
            timeout_s=question.timeout_s,
        ),
        lambda error: _hint(error, question),
    )


def ask_server(
    server: Named | InCluster, call: Callable[[Client], T], hint: Callable[[GpuPodsError], str]
) -> T:
    """What ``call`` brings back from ``server``; a spinner meanwhile, for a person who waits.

    Args:
        server: Who is asked.
        call: The question, put to a client of that server.
        hint: What to try, where an error's own message does not say it; "" is nothing.

    Raises:
        CommandFailed: there is no answer.
    """
    where = server.target if isinstance(server, Named) else "the controller in the cluster"
    with waiting(console_for(sys.stderr), f"asking {where} ..."), reachable(server) as target:
        try:
            with Client(target) as client:
                return call(client)
        except GpuPodsError as error:
            message = error.message.replace(target, where)
            raise _failure_for(error)(_in_our_words(error, message, where), hint(error)) from error


def _failure_for(error: GpuPodsError) -> type[CommandFailed]:
    if isinstance(error, Unreachable):
        return NotReached
    if isinstance(error, Unavailable | DeadlineExceeded):
        return NoAnswer
    return CommandFailed


def _in_our_words(error: GpuPodsError, message: str, where: str) -> str:
    """Servers speak of the request's fields; whoever wrote a command has never seen one."""
    if not isinstance(error, InvalidPodId):
        return message
    if AT_AN_AGENT in message:
        return f"{where} is a node agent, and knows no pods by their names: ask a controller"
    return message.replace("worker_id is a pod:", "POD is").replace("worker_id ", "POD ")


def _hint(error: GpuPodsError, question: Question) -> str:
    if isinstance(error, PodNotFound):
        first, slash, last = question.pod.partition("/")
        if slash and first in KINDS:
            return f"what stands before the slash is a namespace: {NAME_ALONE}"
        if hint := hint_on_kind(last or first):
            return hint
    return server_hint(error, question.timeout_s)


def server_hint(error: GpuPodsError, timeout_s: float) -> str:
    """What the message does not say already: servers' own messages mostly do."""
    if isinstance(error, Unreachable) and HTTP_1 in error.message:
        return "an HTTP server is there, perhaps the controller's own: --server is its gRPC port"
    if isinstance(error, Unreachable):
        return (
            f"does a gpupods controller listen there? --server or {SERVER_VARIABLE} names it; "
            "without them it is looked for in the cluster of your kubeconfig"
        )
    if isinstance(error, DeadlineExceeded):
        return f"--timeout {timeout_s * 4:g}s waits longer"
    return ""
