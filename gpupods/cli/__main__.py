"""Starts the command: the name it goes by, and what its end tells the shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import PurePath
from typing import NoReturn

import click

from gpupods.cli.completion import COMPLETION_VARIABLE
from gpupods.cli.exit_codes import ExitCode
from gpupods.cli.program import program
from gpupods.standard_streams import discard_stdout, open_closed_streams

PLUGIN_PREFIX = "kubectl-"


def main() -> NoReturn:
    """Run the command line of this process and exit."""
    open_closed_streams()
    # gRPC's own log lines would stand between an answer and its reader.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(int(run(sys.argv[1:], program_name(sys.argv[0]))))


def program_name(argv0: str) -> str:
    """How people call it: kubectl finds ``kubectl-gpupods`` for ``kubectl gpupods``."""
    called = PurePath(argv0).name
    return "kubectl gpupods" if called.startswith(PLUGIN_PREFIX) else "gpupods"


def run(arguments: Sequence[str], name: str) -> int:
    """Run one command line; errors are on stderr by then. Returns: the exit code."""
    try:
        result = program.main(
            list(arguments),
            prog_name=name,
            complete_var=COMPLETION_VARIABLE,
            standalone_mode=False,
        )
    except click.ClickException as error:
        error.show()
        return int(error.exit_code)
    except OSError as error:  # commands explain their own: this is stdout's
        discard_stdout()
        click.echo(f"Error: stdout cannot be written: {error.strerror or error}", err=True)
        return ExitCode.REFUSED
    except (click.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    # Commands end by context.exit(code); one that just returns has succeeded.
    return result if isinstance(result, int) else ExitCode.OK


if __name__ == "__main__":
    main()
