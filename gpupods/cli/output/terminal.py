"""Prints an answer for people: the table on stdout, what it lacks on stderr.

Colours only where a terminal is, and none if NO_COLOR is set.
"""

from __future__ import annotations

import os
import sys
from typing import IO

from rich.console import Console

from gpupods.cli.output.missing import print_missing
from gpupods.cli.output.stdout import write_answer
from gpupods.cli.output.table import table
from gpupods.cli.question import Question
from gpupods.client.answer import GpuPodsAnswer


def console_for(stream: IO[str]) -> Console:
    """A console that prints text as it is given: no markup, no emoji, no guessed highlights."""
    return Console(
        file=stream,
        # Rich itself keeps bold and dim under NO_COLOR; they are escape sequences too.
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        markup=False,
        emoji=False,
        highlight=False,
    )


def print_for_people(answer: GpuPodsAnswer, question: Question, *, wide: bool) -> None:
    """The table, and then a warning if it is not whole."""
    console = console_for(sys.stdout)
    width = console.width if console.is_terminal else None
    with console.capture() as printed:
        for line in table(answer, question, wide=wide, width=width):
            console.print(line, soft_wrap=True)
    write_answer(printed.get())
    print_missing(console_for(sys.stderr), answer.missing)
