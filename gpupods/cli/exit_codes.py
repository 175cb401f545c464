"""What a process's exit code says. docs/cli.md and ``--help`` tell the same."""

from __future__ import annotations

import enum
from collections.abc import Mapping


class ExitCode(enum.IntEnum):
    """The exit codes of every subcommand; `gpupods doctor` has meanings of its own for some."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    INCOMPLETE = 3
    NO_ANSWER = 4
    INTERRUPTED = 130
    BROKEN_PIPE = 141


MEANINGS: Mapping[ExitCode, str] = {
    ExitCode.OK: "an answer was printed; what it lacks was said on stderr",
    ExitCode.REFUSED: "there is no answer: no such pod or node, an ambiguous name, access denied",
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.INCOMPLETE: "with --strict: an answer was printed, and parts of it are missing",
    ExitCode.NO_ANSWER: "not reached, not ready or too late: trying again may help",
    ExitCode.INTERRUPTED: "Ctrl-C",
    ExitCode.BROKEN_PIPE: "whoever read the output has gone",
}


OF_THE_DOCTOR: Mapping[ExitCode, str] = {
    ExitCode.OK: "all is well, warnings apart",
    ExitCode.REFUSED: "a check has failed",
    ExitCode.USAGE: "the command line is wrong, or there is nothing to examine",
    ExitCode.INTERRUPTED: MEANINGS[ExitCode.INTERRUPTED],
    ExitCode.BROKEN_PIPE: MEANINGS[ExitCode.BROKEN_PIPE],
}
"""Of `gpupods doctor`, which never ends for want of an answer: that is what it reports."""


OF_A_WORD: Mapping[ExitCode, str] = {
    ExitCode.OK: "the node's agent has taken it, or there was nothing to restore; with --no-wait: "
    "it is written",
    ExitCode.REFUSED: "it was refused: no such node or GPU, access denied; nothing was written",
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.INCOMPLETE: "it was taken, and the GPU is unfit for something noticed since",
    ExitCode.NO_ANSWER: "not written: not reached; or written, and not taken in time",
    ExitCode.INTERRUPTED: MEANINGS[ExitCode.INTERRUPTED],
    ExitCode.BROKEN_PIPE: MEANINGS[ExitCode.BROKEN_PIPE],
}
"""Of `gpupods gpu exclude` and `gpupods gpu restore`."""


def exit_code_help() -> str:
    """The table of exit codes, for the end of a help text."""
    return _table(MEANINGS)


def doctor_exit_code_help() -> str:
    """The same for `gpupods doctor`."""
    return _table(OF_THE_DOCTOR)


def word_exit_code_help() -> str:
    """The same for an operator's word."""
    return _table(OF_A_WORD)


def _table(meanings: Mapping[ExitCode, str]) -> str:
    lines = [f"  {int(code):>3}  {meaning}" for code, meaning in meanings.items()]
    return "\b\nExit codes:\n" + "\n".join(lines)
