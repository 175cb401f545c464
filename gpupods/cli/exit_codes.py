"""What a process's exit code says. docs/cli.md and ``--help`` tell the same."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """The exit codes of every subcommand; the text of each is for ``--help``."""

    text: str

    def __new__(cls, code: int, text: str) -> ExitCode:
        """A member is its number; its text stands beside it."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.text = text
        return member

    OK = 0, "an answer was printed; what it lacks was said on stderr"
    REFUSED = 1, "there is no answer: no such pod, an ambiguous name, access denied"
    USAGE = 2, "the command line is wrong"
    INCOMPLETE = 3, "with --strict: an answer was printed, and parts of it are missing"
    NO_ANSWER = 4, "not reached, not ready or too late: trying again may help"
    INTERRUPTED = 130, "Ctrl-C"
    BROKEN_PIPE = 141, "whoever read the output has gone"


def exit_code_help() -> str:
    """The table of exit codes, for the end of a help text."""
    lines = [f"  {int(code):>3}  {code.text}" for code in ExitCode]
    return "\b\nExit codes:\n" + "\n".join(lines)
