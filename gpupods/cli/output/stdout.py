"""The one place that writes an answer."""

from __future__ import annotations

import os
import sys
from typing import IO, Any

import click

from gpupods.cli.exit_codes import ExitCode


class ReaderGone(click.ClickException):
    """Whoever read stdout has gone, as ``head`` does: nothing to complain about."""

    exit_code = ExitCode.BROKEN_PIPE

    def show(self, file: IO[Any] | None = None) -> None:
        """Say nothing."""


def write_answer(text: str) -> None:
    """Write all of ``text`` to stdout.

    Raises:
        ReaderGone: nobody reads it.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Else Python complains, at its end, that it cannot flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise ReaderGone("stdout is closed") from None
