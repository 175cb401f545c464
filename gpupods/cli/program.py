"""The command's frame: subcommands that are loaded only when they are run, and the help text.

Each subcommand's short help stands here, so that ``--help`` imports none of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from gpupods.cli.exit_codes import exit_code_help
from gpupods.cli.help_text import ProgramNameInHelp

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@dataclass(frozen=True, slots=True)
class Subcommand:
    """Where a subcommand's click.Command is found, and the line about it."""

    module: str
    attribute: str
    short_help: str


SUBCOMMANDS: Mapping[str, Subcommand] = {
    "get": Subcommand(
        "gpupods.cli.get", "get", "Show the GPUs of a pod's node and the processes on them."
    ),
    "doctor": Subcommand(
        "gpupods.cli.doctor", "doctor", "Examine controller and nodes; say what to do if need be."
    ),
    "simulate": Subcommand(
        "gpupods.cli.simulate", "simulate", "Run a whole GPU cluster in this process, to try it."
    ),
    "completion": Subcommand(
        "gpupods.cli.completion", "completion", "Print the completion script for a shell."
    ),
}


class LazyGroup(ProgramNameInHelp, click.Group):
    """A group whose subcommands are those of `SUBCOMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order in which a newcomer needs them."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load one; None if there is none of that name."""
        subcommand = SUBCOMMANDS.get(cmd_name)
        if subcommand is None:
            return None
        command = getattr(importlib.import_module(subcommand.module), subcommand.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{subcommand.module}.{subcommand.attribute} is not a command")
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """The list of subcommands, without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, subcommand.short_help) for name, subcommand in SUBCOMMANDS.items()]
            )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Subcommands, without loading them, and options."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - seldom needed

        names = [
            CompletionItem(name, help=subcommand.short_help)
            for name, subcommand in SUBCOMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001
    if not wanted or context.resilient_parsing:
        return
    from gpupods.version import VERSION  # noqa: PLC0415 - reading it takes a while

    click.echo(f"gpupods {VERSION}")
    context.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=exit_code_help(),
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and exit.",
)
def program() -> None:
    """Which Kubernetes pod's process is on which GPU, and how much of it does it hold.

    \b
    Without a cluster, start a simulated one:
        {prog} simulate
    In a cluster, ask about a pod; its whole node is shown:
        {prog} get team-a/train-0
    For a program:
        {prog} get team-a/train-0 -o json
    """  # noqa: D301 - click reads the \b
