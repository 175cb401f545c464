"""``gpupods gpu``: the frame of its subcommands."""

from __future__ import annotations

from collections.abc import Mapping

import click

from gpupods.cli.lazy_group import LazyGroup, Subcommand

SUBCOMMANDS: Mapping[str, Subcommand] = {
    "list": Subcommand(
        "gpupods.cli.gpu.listing", "list_gpus", "List GPUs: their health, and the pods on them."
    ),
    "exclude": Subcommand(
        "gpupods.cli.gpu.words", "exclude", "Have a GPU given to nobody, however well it is."
    ),
    "restore": Subcommand(
        "gpupods.cli.gpu.words", "restore", "Have it given again: what was against it is settled."
    ),
}


@click.group("gpu", cls=LazyGroup, subcommands=SUBCOMMANDS)
def gpu() -> None:
    """The cluster's GPUs: which are unfit and why, and your word on one of them.

    \b
    Which GPUs must not be given to anybody, and whom it hurts:
        {prog} gpu list --unfit
    Take one out of use, for a while or until you say otherwise:
        {prog} gpu exclude gpu-node-1 3 --reason "gets too hot" --for 8h
    Give it back:
        {prog} gpu restore gpu-node-1 3 --reason "fan replaced"
    """  # noqa: D301 - click reads the \b
