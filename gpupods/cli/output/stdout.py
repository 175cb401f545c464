"""The one place that writes an answer."""

from __future__ import annotations

import sys
from typing import IO, Any

import click

from gpupods.cli.exit_codes import ExitCode
from gpupods.standard_streams import discard_stdout


class ReaderGone(click.ClickException):
    """Whoever read stdout has gone, as ``head`` does: nothing to complain about."""

    exit_code = ExitCode.BROKEN_PIPE

    def show(self, file: IO[Any] | None = None) -> None:
        """Say nothing."""


def write_answer(text: str) -> None:
    """Write all of ``text`` to stdout.

    Raises:
        ReaderGone: nobody reads it.
        OSError: it cannot be written: the disk is full, stdout is closed.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
        raise ReaderGone("stdout is closed") from None
