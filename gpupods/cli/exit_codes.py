"""What a process's exit code says. docs/cli.md and ``--help`` tell the same."""

from __future__ import annotations

import enum
from collections.abc import Mapping


class ExitCode(enum.IntEnum):
    """The exit codes of every subcommand."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    INCOMPLETE = 3
    NO_ANSWER = 4
    INTERRUPTED = 130
    BROKEN_PIPE = 141


MEANINGS: Mapping[ExitCode, str] = {
    ExitCode.OK: "an answer was printed; what it lacks was said on stderr",
    ExitCode.REFUSED: "there is no answer: no such pod, an ambiguous name, access denied",
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.INCOMPLETE: "with --strict: an answer was printed, and parts of it are missing",
    ExitCode.NO_ANSWER: "not reached, not ready or too late: trying again may help",
    ExitCode.INTERRUPTED: "Ctrl-C",
    ExitCode.BROKEN_PIPE: "whoever read the output has gone",
}


def exit_code_help() -> str:
    """The table of exit codes, for the end of a help text."""
    lines = [f"  {int(code):>3}  {meaning}" for code, meaning in MEANINGS.items()]
    return "\b\nExit codes:\n" + "\n".join(lines)
