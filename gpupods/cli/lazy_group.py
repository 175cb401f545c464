"""A group of subcommands that are loaded only when they are run.

Each subcommand's short help stands with the group, so that ``--help`` imports none of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gpupods.cli.help_text import ProgramNameInHelp

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@dataclass(frozen=True, slots=True)
class Subcommand:
    """Where a subcommand's click.Command is found, and the line about it."""

    module: str
    attribute: str
    short_help: str


class LazyGroup(ProgramNameInHelp, click.Group):
    """A group whose subcommands are ``subcommands``, in the order in which they are listed."""

    def __init__(
        self, *arguments: Any, subcommands: Mapping[str, Subcommand], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._subcommands = subcommands

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order in which a newcomer needs them."""
        return list(self._subcommands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load one; None if there is none of that name."""
        subcommand = self._subcommands.get(cmd_name)
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
                [(name, subcommand.short_help) for name, subcommand in self._subcommands.items()]
            )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Subcommands, without loading them, and options."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - seldom needed

        names = [
            CompletionItem(name, help=subcommand.short_help)
            for name, subcommand in self._subcommands.items()
            if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]
