"""The command's frame: its subcommands, and the help text."""

from __future__ import annotations

from collections.abc import Mapping

import click

from gpupods.cli.exit_codes import exit_code_help
from gpupods.cli.lazy_group import LazyGroup, Subcommand

SUBCOMMANDS: Mapping[str, Subcommand] = {
    "get": Subcommand(
        "gpupods.cli.get", "get", "Show the GPUs of a pod's node and the processes on them."
    ),
    "gpu": Subcommand(
        "gpupods.cli.gpu.group", "gpu", "List the cluster's GPUs; take one out of use, or back."
    ),
    "doctor": Subcommand(
        "gpupods.cli.doctor", "doctor", "Examine controller and nodes; say what to do if need be."
    ),
    "simulate": Subcommand(
        "gpupods.cli.simulate", "simulate", "Run a whole GPU cluster in this process, to try it."
    ),
    "completion": Subcommand(
        "gpupods.cli.completion", "completion", "Print the completion script for a shell."
    ),
}


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001
    if not wanted or context.resilient_parsing:
        return
    from gpupods.version import VERSION  # noqa: PLC0415 - reading it takes a while

    click.echo(f"gpupods {VERSION}")
    context.exit()


@click.group(
    cls=LazyGroup,
    subcommands=SUBCOMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=exit_code_help(),
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and exit.",
)
def program() -> None:
    """Which Kubernetes pod's process is on which GPU, and how much of it does it hold.

    \b
    Without a cluster, start a simulated one:
        {prog} simulate
    In a cluster, ask about a pod; its whole node is shown:
        {prog} get team-a/train-0
    For a program:
        {prog} get team-a/train-0 -o json
    Which GPUs are unfit, why, and which pods are on them:
        {prog} gpu list --unfit
    """  # noqa: D301 - click reads the \b
