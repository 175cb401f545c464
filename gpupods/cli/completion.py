"""Completion for shells, and for kubectl, which asks its plugins in a way of its own."""

from __future__ import annotations

import sys

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from gpupods.cli.help_text import ProgramNameInHelp

SHELLS = ("bash", "zsh", "fish")
COMPLETION_VARIABLE = "_GPUPODS_COMPLETE"
NO_FILES = ":4"
FILES = ":0"


@click.command("completion", cls=ProgramNameInHelp)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    bash:  echo 'eval "$(gpupods completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(gpupods completion zsh)"' >> ~/.zshrc
    fish:  gpupods completion fish > ~/.config/fish/completions/gpupods.fish

    kubectl completes `kubectl gpupods` through the program kubectl_complete-gpupods, which is
    installed beside gpupods.
    """  # noqa: D301 - click reads the \b
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion is known for {shell}")
    command = context.find_root().command
    # The base class's source: the others' warn about the shell that happens to be on PATH.
    click.echo(ShellComplete.source(kind(command, {}, "gpupods", COMPLETION_VARIABLE)))


def complete_for_kubectl() -> None:
    """The program kubectl_complete-gpupods: completions of its last argument, one a line.

    After them comes a line that tells the shell whether file names would do as well.
    """
    from gpupods.cli.program import program  # noqa: PLC0415 - program names this module

    *words, incomplete = sys.argv[1:] or [""]
    complete = ShellComplete(program, {}, "kubectl gpupods", COMPLETION_VARIABLE)
    items = complete.get_completions(words, incomplete)
    for item in items:
        if item.type == "plain":
            click.echo(_line(item))
    files = any(item.type != "plain" for item in items)
    click.echo(FILES if files else NO_FILES)


def _line(item: CompletionItem[str]) -> str:
    return f"{item.value}\t{item.help}" if item.help else str(item.value)
