"""Says an operator's word: reads the Node, writes the word, and waits until its agent took it."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime

import click

from gpupods.cli.exit_codes import ExitCode
from gpupods.cli.failure import CommandFailed, NoAnswer
from gpupods.cli.gpu import judge
from gpupods.cli.gpu.cluster import (
    ChangedMeanwhileError,
    operator_api,
    own_name,
    read_node,
    write_overrides,
)
from gpupods.cli.gpu.judge import NodeSeen, Standing
from gpupods.cli.output.stdout import write_answer
from gpupods.cli.output.terminal import console_for
from gpupods.cli.output.terminal_text import one_line
from gpupods.cli.output.units import moment
from gpupods.cli.waiting import waiting
from gpupods.kube.api import KubeApi
from gpupods.node_annotations import (
    OVERRIDES,
    Override,
    OverrideKind,
    parse_overrides,
    with_override,
)

ATTEMPTS = 10
"""At a Node that others write to at the same moment."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 1.0
"""Between two looks at the Node."""


@dataclass(frozen=True, slots=True)
class Saying:
    """What is to be said.

    Attributes:
        who: None: whoever the API server takes the caller for.
        ends: When an exclusion ends by itself.
        wait_s: For the agent; None: not at all.
        replace: Whether an annotation that cannot be read may be written anew.
    """

    node: str
    index: int
    restores: bool
    reason: str
    who: str | None
    ends: datetime | None
    wait_s: float | None
    replace: bool
    kubeconfig: str | None
    context: str | None

    @property
    def gpu(self) -> str:
        """For people."""
        return f"GPU {self.index} of node {self.node}"


async def say(wanted: Saying) -> ExitCode:
    """Do it all, and print what is so then.

    Raises:
        CommandFailed: it was refused.
        NoAnswer: the API server did not answer, or the agent did not take it in time.
    """
    async with operator_api(wanted.kubeconfig, wanted.context) as api:
        node = await read_node(api, wanted.node)
        if problem := judge.beyond(node, wanted.index):
            raise CommandFailed(problem, f"gpupods gpu list {wanted.node} shows those it has")
        if wanted.restores and judge.nothing_to_restore(node, wanted.index, _now()):
            _print(
                f"{wanted.gpu} is not reported as unfit, and nobody has excluded it: there is "
                "nothing to restore."
            )
            return ExitCode.OK
        if judge.counts_no_gpu(node):
            _warn(f"node {wanted.node} has no GPU by its capacity: is it the one you mean?")
        who = wanted.who or await own_name(api, wanted.kubeconfig, wanted.context)
        if not who:
            raise CommandFailed("nobody knows who you are", "--who NAME says so")
        node, word = await _write(api, node, wanted, who)
        if wanted.wait_s is None:
            _print(f"{wanted.gpu}: it is written; its agent will take it.")
            return ExitCode.OK
        node = await _until_taken(api, node, wanted, word)
    return _told(node, wanted, word)


async def _write(
    api: KubeApi, node: NodeSeen, wanted: Saying, who: str
) -> tuple[NodeSeen, Override]:
    for _ in range(ATTEMPTS):
        word = _word(node, wanted, who)
        value = _value(node, wanted, word)
        try:
            written = await write_overrides(api, node, value)
        except ChangedMeanwhileError:
            node = await read_node(api, wanted.node)
            continue
        _warn_of_others(node, wanted)
        return written, word
    raise NoAnswer(
        f"node {wanted.node!r} was changed by others at each of {ATTEMPTS} attempts",
        "try again; who writes to it all the time? kubectl get node --watch -o yaml",
    )


def _word(node: NodeSeen, wanted: Saying, who: str) -> Override:
    kind = OverrideKind.RESTORE if wanted.restores else OverrideKind.EXCLUDE
    gpu = node.unfit(wanted.index)
    uuid = gpu.uuid if wanted.restores and gpu is not None else ""
    word = Override(kind, who, wanted.reason, _now(), wanted.ends, uuid)
    return judge.dated(word, node, wanted.index)


def _value(node: NodeSeen, wanted: Saying, word: Override) -> str:
    before = node.annotations.get(OVERRIDES)
    try:
        return with_override(before, wanted.index, word)
    except ValueError as error:
        if not wanted.replace:
            raise CommandFailed(
                f"node {wanted.node!r}: {error}",
                "--replace writes it anew; what it said is lost: "
                f"kubectl get node {wanted.node} -o yaml shows it",
            ) from error
        return with_override(None, wanted.index, word)


def _warn_of_others(before: NodeSeen, wanted: Saying) -> None:
    """Whose word was replaced, and which words nobody understands."""
    last = before.word(wanted.index)
    if last is not None and last.kind is OverrideKind.EXCLUDE and not wanted.restores:
        _warn(f"this replaces the word of {last.who}, of {moment(last.given)}: {last.why}")
    _, problem = parse_overrides(before.annotations.get(OVERRIDES))
    if problem and not wanted.replace:
        _warn(f"node {wanted.node}: {problem}")


async def _until_taken(api: KubeApi, node: NodeSeen, wanted: Saying, word: Override) -> NodeSeen:
    """The Node once its agent has taken the word, or the time is over."""
    ends = time.monotonic() + (wanted.wait_s or 0.0)
    pause_s = FIRST_PAUSE_S
    with waiting(console_for(sys.stderr), f"waiting for the agent of {wanted.node} ..."):
        while judge.standing(node, wanted.index, word) is Standing.WAITING:
            left_s = ends - time.monotonic()
            if left_s <= 0 or _has_ended(word):
                return node
            await asyncio.sleep(min(pause_s, left_s))
            pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)
            node = await _again(api, node, wanted)
    return node


async def _again(api: KubeApi, node: NodeSeen, wanted: Saying) -> NodeSeen:
    """The Node now. The word is written: what is away may come back, and nothing is refused."""
    try:
        return await read_node(api, wanted.node)
    except NoAnswer:
        return node
    except CommandFailed as error:
        raise NoAnswer(
            f"{wanted.gpu}: the word is written, and what has become of it cannot be read: "
            f"{error.message}",
            error.hint,
        ) from error


def _told(node: NodeSeen, wanted: Saying, word: Override) -> ExitCode:
    standing = judge.standing(node, wanted.index, word)
    if standing is Standing.WAITING:
        raise _not_taken(node, wanted, word)
    gpu = node.unfit(wanted.index)
    if standing is Standing.UNFIT_ANEW and gpu is not None:
        _print(f"{wanted.gpu} was restored, and is unfit again: {gpu.reason}. To do: {gpu.action}")
        return ExitCode.INCOMPLETE
    if wanted.restores:
        _print(
            f"{wanted.gpu} is fit: schedulers may give it to pods. If something is still wrong "
            "with it, it is unfit again as soon as that is seen."
        )
        return ExitCode.OK
    until = "" if word.until is None else f", until {moment(word.until)}"
    _print(
        f"{wanted.gpu} is excluded by {word.who}{until}: {word.why}. Schedulers avoid it; pods "
        f"that run on it stay: gpupods gpu list {wanted.node}"
    )
    return ExitCode.OK


def _not_taken(node: NodeSeen, wanted: Saying, word: Override) -> CommandFailed:
    if node.word(wanted.index) != word:
        return NoAnswer(
            f"{wanted.gpu}: the word was written, and somebody has replaced it since",
            f"kubectl get node {wanted.node} -o yaml has whose it is, in {OVERRIDES}",
        )
    if _has_ended(word):
        return NoAnswer(
            f"{wanted.gpu}: the word has ended, and was not seen to be taken before",
            "give it longer, by --for or --until",
        )
    gpu = node.unfit(wanted.index)
    now = f"it is unfit: {gpu.reason}" if gpu is not None else "it is not reported as unfit"
    return NoAnswer(
        f"{wanted.gpu}: the word is written, and the node's agent has not taken it within "
        f"{wanted.wait_s:g} s; as far as is known {now}",
        f"it will when it runs and reports: gpupods doctor; kubectl get pods -n gpupods-system "
        f"--field-selector spec.nodeName={wanted.node}; its log, and its setting --report",
    )


def _has_ended(word: Override) -> bool:
    return word.until is not None and word.until <= _now()


def _now() -> datetime:
    """To the millisecond: as much as tells one word from another."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def _print(text: str) -> None:
    write_answer(one_line(text) + "\n")


def _warn(text: str) -> None:
    click.echo(f"Warning: {one_line(text)}", err=True)
