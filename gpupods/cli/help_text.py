"""Help texts that show the command by the name it was called by."""

from __future__ import annotations

import click

PLACEHOLDER = "{prog}"


class ProgramNameInHelp(click.Command):
    """A command in whose help ``{prog}`` is "gpupods", or "kubectl gpupods" for the plugin."""

    def get_help(self, ctx: click.Context) -> str:
        """The formatted help."""
        return super().get_help(ctx).replace(PLACEHOLDER, ctx.find_root().info_name or "gpupods")
