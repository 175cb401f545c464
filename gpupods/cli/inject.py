"""``gpupods simulate inject``: makes GPUs of a running simulation fail, and recover."""

from __future__ import annotations

import click

from gpupods.cli.failure import CommandFailed
from gpupods.cli.help_text import ProgramNameInHelp
from gpupods.cli.names import NameOfNode
from gpupods.cli.output.stdout import write_answer

LONGEST_INDEX = 5
"""Digits."""


class GpuIndexes(click.ParamType[tuple[int, ...]]):
    """``3``, ``0,3`` or ``all``."""

    name = "INDEX[,INDEX...]|all"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """The indexes; none is all."""
        if isinstance(value, tuple):
            return value
        text = str(value)
        if text == "all":
            return ()
        parts = text.split(",")
        if not all(map(_is_index, parts)):
            self.fail(f"{text!r} is no index of a GPU: write 3, or 0,3, or all", param, ctx)
        return tuple(int(part) for part in parts)


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= LONGEST_INDEX


@click.command("inject", cls=ProgramNameInHelp)
@click.option("--node", required=True, type=NameOfNode(), metavar="NAME", help="The node.")
@click.option(
    "--gpu",
    type=GpuIndexes(),
    help="Its GPUs by index. --hang and --recover are of all where none is given.",
)
@click.option("--xid", "xids", type=int, multiple=True, help="The driver reports this XID.")
@click.option("--lost", is_flag=True, help="It falls off the bus. A real one sends --xid 79, too.")
@click.option("--hang", is_flag=True, help="The driver of the node hangs, for all of its GPUs.")
@click.option("--remap-failure", is_flag=True, help="A bad memory row has no spare left.")
@click.option(
    "--recovery-action",
    type=click.IntRange(0, 7),
    help="The driver asks for this recovery action, as NVML counts; 0: for none any more.",
)
@click.option(
    "--uncorrectable",
    type=click.IntRange(min=1),
    default=None,
    metavar="COUNT",
    help="So many more uncorrectable memory errors.",
)
@click.option("--reset", is_flag=True, help="It is reset.")
@click.option("--replace-board", is_flag=True, help="Another board is put in its place.")
@click.option(
    "--recover", is_flag=True, help="The node is restarted, and what a restart helps is well."
)
@click.option(
    "--simulation",
    default="",
    metavar="PID|KUBECONFIG",
    help="Which simulation, where several are running.",
)
def inject(
    *,
    node: str,
    gpu: tuple[int, ...] | None,
    xids: tuple[int, ...],
    lost: bool,
    hang: bool,
    remap_failure: bool,
    recovery_action: int | None,
    uncorrectable: int | None,
    reset: bool,
    replace_board: bool,
    recover: bool,
    simulation: str,
) -> None:
    """Let GPUs of the simulation that runs in another terminal fail, or recover.

    What becomes of it is reported as in a real cluster: on the Node, in events, and by
    `{prog} gpu list`.

    \b
    Examples:
      {prog} simulate inject --node gpu-a100-1 --gpu 1 --xid 79 --lost
      {prog} simulate inject --node gpu-a100-1 --gpu 1 --recover
      {prog} simulate inject --node gpu-h100-1 --hang
    """  # noqa: D301 - click reads the \b
    from simulator.control import client  # noqa: PLC0415 - --help can do without it
    from simulator.injection import Injection  # noqa: PLC0415

    wanted = Injection(
        node=node,
        gpus=gpu or (),
        xids=xids,
        lost=lost,
        hang=hang,
        remap_failure=remap_failure,
        recovery_action=recovery_action,
        uncorrectable=uncorrectable or 0,
        reset=reset,
        replace_board=replace_board,
        recover=recover,
    )
    if not wanted.faults and not wanted.remedies:
        raise click.UsageError("Say what is to happen: --xid, --lost, --hang, ..., or --recover.")
    if gpu is None and wanted.of_one_gpu:
        raise click.UsageError("Say to which GPU: --gpu INDEX, or --gpu all.")
    try:
        reply = client.send(wanted, simulation)
    except client.ControlError as error:
        raise CommandFailed(str(error), error.hint) from error
    except OSError as error:
        raise CommandFailed(f"the simulation cannot be asked: {error}") from error
    if reply.error:
        raise CommandFailed(reply.error)
    see = reply.about.see if reply.about else ""
    lines = [*reply.done, *([f"see: {see}"] if see else [])]
    write_answer("".join(f"{line}\n" for line in lines))
