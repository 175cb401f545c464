"""How a command fails: one readable line on stderr, a hint, and an exit code."""

from __future__ import annotations

from typing import IO, Any

import click

from gpupods.cli.exit_codes import ExitCode
from gpupods.cli.output.terminal_text import one_line


class CommandFailed(click.ClickException):
    """Ends the command. ``hint`` says what to try, where the message does not."""

    exit_code = ExitCode.REFUSED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def show(self, file: IO[Any] | None = None) -> None:
        """Write both lines; servers' words in them cannot steer the terminal."""
        click.echo(f"Error: {one_line(self.message)}", file=file, err=file is None)
        if self.hint:
            click.echo(f"Hint: {one_line(self.hint)}", file=file, err=file is None)


class NoAnswer(CommandFailed):
    """Nobody answered, or not in time: the same command may succeed later."""

    exit_code = ExitCode.NO_ANSWER


class NotReached(NoAnswer):
    """No connection to the server, or it broke: the server itself said nothing."""
