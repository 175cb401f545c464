"""``gpupods simulate``: a whole GPU cluster in one process, for those who have none at hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from gpupods.addresses import HostPort, parse_host_port
from gpupods.cli.failure import CommandFailed
from gpupods.cli.lazy_group import LazyGroup, Subcommand
from gpupods.settings import SettingType

MOST_NODES = 5_000
MOST_GPUS = 64
MOST_PODS = 100_000


SUBCOMMANDS: Mapping[str, Subcommand] = {
    "inject": Subcommand(
        "gpupods.cli.inject", "inject", "Let GPUs of the running simulation fail, or recover."
    ),
}


@click.group(
    "simulate",
    cls=LazyGroup,
    subcommands=SUBCOMMANDS,
    invoke_without_command=True,
    subcommand_metavar="[inject ...]",
)
@click.option(
    "--nodes",
    type=click.IntRange(0, MOST_NODES),
    default=4,
    show_default=True,
    help="Nodes with GPUs.",
)
@click.option(
    "--gpus-per-node",
    type=click.IntRange(1, MOST_GPUS),
    default=8,
    show_default=True,
    help="GPUs on each of them.",
)
@click.option(
    "--cpu-nodes",
    type=click.IntRange(0, MOST_NODES),
    default=1,
    show_default=True,
    help="Further nodes, without a GPU.",
)
@click.option(
    "--pods",
    type=click.IntRange(0, MOST_PODS),
    default=24,
    show_default=True,
    help="Pods in the whole cluster, beside the controller's own.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Another seed makes other names, ids and figures.",
)
@click.option(
    "--grpc-listen",
    type=SettingType("HOST:PORT", parse_host_port),
    help="The controller's gRPC.  [default: 127.0.0.1:50050, or another port if that is taken]",
)
@click.option(
    "--http-listen",
    type=SettingType("HOST:PORT", parse_host_port),
    help="The controller's HTTP.  [default: 127.0.0.1:8080, or another port if that is taken]",
)
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the kubeconfig.  [default: in a temporary folder]",
)
@click.option(
    "--health-policy",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An operator's policy for all node agents, as their --health-policy.",
)
@click.option(
    "--health",
    is_flag=True,
    help="Show first how a GPU fails, is kept free of work, and comes back.",
)
@click.option("--demo", is_flag=True, help="Ask the main question by gRPC, HTTP and command first.")
@click.option(
    "--once",
    is_flag=True,
    help="Show that (without --health: the answers) and end: 0 if all is as it should be, else 1.",
)
@click.pass_context
def simulate(
    context: click.Context,
    /,
    *,
    nodes: int,
    gpus_per_node: int,
    cpu_nodes: int,
    pods: int,
    seed: int,
    grpc_listen: HostPort | None,
    http_listen: HostPort | None,
    kubeconfig: Path | None,
    health_policy: Path | None,
    health: bool,
    demo: bool,
    once: bool,
) -> None:
    """Run a whole GPU cluster in this process, on loopback, until Ctrl-C.

    A Kubernetes API that real kubectl can use, nodes with simulated GPUs, containers and
    processes, a real node agent for each node and a real controller. No GPU, container runtime
    or root is needed. What to try is printed at the start.

    \b
    Examples:
      {prog} simulate
      {prog} simulate --nodes 200 --pods 2000
      {prog} simulate --once
      {prog} simulate --once --health
      {prog} simulate inject --node gpu-a100-1 --gpu 1 --xid 79 --lost
    """  # noqa: D301 - click reads the \b
    if context.invoked_subcommand is not None:
        return
    from simulator import command  # noqa: PLC0415 - --help can do without it
    from simulator.scenario import Size  # noqa: PLC0415

    wishes = command.Wishes(
        size=Size(nodes, gpus_per_node, pods, cpu_nodes, seed),
        grpc_listen=grpc_listen,
        http_listen=http_listen,
        kubeconfig=kubeconfig,
        health_policy=health_policy,
        health=health,
        demo=demo,
        once=once,
    )
    try:
        context.exit(command.simulate(wishes))
    except OSError as error:
        raise CommandFailed(str(error)) from error
