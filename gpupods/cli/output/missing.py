"""What an answer lacks, for people: a panel on a terminal, plain lines in a log."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from gpupods.cli.output.terminal_text import one_line
from gpupods.client.answer import MissingKind, MissingPart

TITLE = "This answer is not whole"
KINDS = {kind: kind.value for kind in MissingKind} | {
    MissingKind.UNKNOWN: "something",
    MissingKind.GPU: "GPU",
    MissingKind.RUNTIME: "container runtime",
}


def print_missing(console: Console, parts: Sequence[MissingPart]) -> None:
    """Say on ``console``, which is stderr, what is missing and why; nothing if nothing is."""
    print_lines(console, [describe(part) for part in parts])


def print_lines(console: Console, lines: Sequence[str]) -> None:
    """Each line is something missing, and why."""
    if not lines:
        return
    if console.is_terminal:
        text = Text("\n".join(f"- {line}" for line in lines))
        console.print(Panel(text, title=TITLE, title_align="left", border_style="yellow"))
        return
    for line in lines:
        console.print(Text(f"Warning: missing: {line}"), soft_wrap=True)


def describe(part: MissingPart) -> str:
    """One part on one line, "container 3f2a...: its shim did not answer within 2 s"."""
    kind = KINDS[part.kind]
    subject = one_line(part.subject or "")
    named = subject.lower().startswith(kind.lower())
    what = subject if named else f"{kind} {subject}".rstrip()
    return f"{what}: {one_line(part.reason) or 'no reason was given'}"
