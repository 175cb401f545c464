"""``gpupods gpu exclude`` and ``gpupods gpu restore``: an operator's word on one GPU."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from gpupods.cli.durations import Duration
from gpupods.cli.exit_codes import ExitCode, word_exit_code_help
from gpupods.cli.gpu.completing import complete_node
from gpupods.cli.gpu.times import Moment, until
from gpupods.cli.help_text import ProgramNameInHelp
from gpupods.cli.names import NameOfNode
from gpupods.client.limits import LONGEST_TIMEOUT_S
from gpupods.node_annotations import HIGHEST_INDEX

LONGEST_TEXT = 1000

F = TypeVar("F", bound=Callable[..., Any])


class IndexOfGpu(click.IntRange):
    """A GPU's index on its node."""

    name = "index"

    def __init__(self) -> None:
        super().__init__(0, HIGHEST_INDEX)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read ``value``; what is wrong with it becomes the error line."""
        text = str(value)
        if not (text.isascii() and text.isdigit()):
            self.fail(f"{text!r} is no index of a GPU: write one number, such as 3", param, ctx)
        return super().convert(value, param, ctx)


class WordCommand(ProgramNameInHelp):
    """As the other commands take a controller's address, people write one here, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See click; with a hint."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name != "--server":
                raise
            raise click.UsageError(
                "no controller is asked: the word is written to the Node, by --kubeconfig or "
                "KUBECONFIG instead of --server",
                ctx,
            ) from None


def word_options(command: F) -> F:
    """The arguments and options that both have."""
    options = [
        click.argument("node", type=NameOfNode(), shell_complete=complete_node),
        click.argument("index", type=IndexOfGpu()),
        click.option("--reason", required=True, help="Why, for whoever reads it later."),
        click.option(
            "--who", help="Who says so.  [default: the user that the API server takes you for]"
        ),
        click.option(
            "--timeout", type=Duration(at_most_s=LONGEST_TIMEOUT_S), default="30s",
            show_default=True, help="How long to wait until the node's agent has taken it.",
        ),
        click.option(
            "--wait/--no-wait", default=True, show_default=True,
            help="Whether to wait for the agent at all.",
        ),
        click.option(
            "--replace", is_flag=True,
            help="Write anew an annotation that cannot be read; whatever else it said is lost.",
        ),
        click.option(
            "--kubeconfig", type=click.Path(exists=True, dir_okay=False), help="As in kubectl."
        ),
        click.option("--context", "kube_context", help="As in kubectl: the kubeconfig's context."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@click.command("exclude", cls=WordCommand, epilog=word_exit_code_help())
@word_options
@click.option(
    "--until", "moment", type=Moment(), metavar="TIME",
    help="When it ends by itself: 2026-12-24T18:00Z.",
)  # fmt: skip
@click.option(
    "--for", "seconds", type=Duration(), metavar="DURATION", help="The same from now on: 8h, 3d."
)
@click.pass_context
def exclude(
    context: click.Context,
    /,
    *,
    moment: datetime | None,
    seconds: float | None,
    **given: Any,
) -> None:
    """Have the GPU number INDEX of NODE given to nobody, however well it is.

    The word is written to the Node (annotation gpupods.io/gpu-overrides), so you need the right
    to patch nodes; the agent of that node takes it from there, and tells schedulers. It holds
    until it ends by itself (--until, --for), or {prog} gpu restore takes it back. Pods that run on
    the GPU stay; {prog} gpu list NODE names them.

    \b
    Examples:
      {prog} gpu exclude gpu-node-1 3 --reason "gets too hot, ticket 4711"
      {prog} gpu exclude gpu-node-1 3 --reason "burn-in test" --for 8h
    """  # noqa: D301 - click reads the \b
    ends = until(moment, seconds, datetime.now(UTC))
    _say(context, restores=False, ends=ends, given=given)


@click.command("restore", cls=WordCommand, epilog=word_exit_code_help())
@word_options
@click.pass_context
def restore(context: click.Context, /, **given: Any) -> None:
    """Have the GPU number INDEX of NODE given to pods again.

    It takes back an exclusion, and says that somebody has looked: what was held against the GPU
    up to now counts no more. What is noticed from now on counts again, so a GPU that is still
    broken will be unfit again.

    \b
    Example:
      {prog} gpu restore gpu-node-1 3 --reason "reseated, ran a burn-in for 2 h"
    """  # noqa: D301 - click reads the \b
    _say(context, restores=True, ends=None, given=given)


def _say(
    context: click.Context, *, restores: bool, ends: datetime | None, given: dict[str, Any]
) -> None:
    reason = _text("--reason", given["reason"])
    who = None if given["who"] is None else _text("--who", given["who"])
    import asyncio  # noqa: PLC0415 - --help can do without what follows

    from gpupods.cli.gpu.saying import Saying, say  # noqa: PLC0415 - loads aiohttp

    wanted = Saying(
        node=given["node"],
        index=given["index"],
        restores=restores,
        reason=reason,
        who=who,
        ends=ends,
        wait_s=given["timeout"] if given["wait"] else None,
        replace=given["replace"],
        kubeconfig=given["kubeconfig"],
        context=given["kube_context"],
    )
    context.exit(asyncio.run(say(wanted)) or ExitCode.OK)


def _text(option: str, text: str) -> str:
    """``text`` on one line.

    Raises:
        click.UsageError: it says nothing, or is no text.
    """
    line = " ".join(text.split())
    if not line:
        raise click.UsageError(f"{option} is empty: whoever looks at the GPU next should know")
    if not line.isprintable():
        raise click.UsageError(f"{option} has control characters, or bytes that are no text")
    if len(line) > LONGEST_TEXT:
        raise click.UsageError(f"{option} is longer than {LONGEST_TEXT} characters: link to it")
    return line
