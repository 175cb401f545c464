"""``gpupods gpu list``: ask the controller, and print the cluster's GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpupods.cli.answer_options import (
    max_age_option,
    output_option,
    strict_option,
    timeout_option,
    write_document,
)
from gpupods.cli.exit_codes import ExitCode, exit_code_help
from gpupods.cli.gpu.completing import complete_node
from gpupods.cli.help_text import ProgramNameInHelp
from gpupods.cli.names import NameOfNode
from gpupods.cli.question import NODE_KINDS
from gpupods.cli.server_choice import InCluster, Named, chosen_server, server_options

if TYPE_CHECKING:
    from gpupods.client.errors import GpuPodsError
    from gpupods.v1alpha1 import health_pb2


@click.command("list", cls=ProgramNameInHelp, epilog=exit_code_help())
@click.argument(
    "nodes", nargs=-1, metavar="[NODE]...", type=NameOfNode(), shell_complete=complete_node
)
@click.option("--unfit", is_flag=True, help="Only the GPUs that must not be given to anybody.")
@output_option()
@max_age_option
@timeout_option(
    "10s", "How long all nodes together may take. What is not there by then is named as missing."
)
@strict_option
@server_options
@click.pass_context
def list_gpus(
    context: click.Context,
    /,
    nodes: tuple[str, ...],
    output: str,
    *,
    unfit: bool,
    max_age: float,
    timeout: float,
    strict: bool,
    **_server: object,
) -> None:
    """List the GPUs of the nodes named NODE, or of the whole cluster.

    HEALTH is one of:

    \b
      fit         it may be given to pods
      UNFIT       it must not; REASON says why, -o wide what to do
      recovering  unfit still: it only has to stay clean for a while
      EXCLUDED    by an operator's word: REASON says whose, and why
      restored    fit by an operator's word
      ?           nobody has judged it

    PODS are those whose processes are on it now. "?" is what could not be found out: a GPU that
    has fallen off the bus cannot tell, nor can a node that is away.

    \b
    Examples:
      {prog} gpu list
      {prog} gpu list --unfit -o wide
      {prog} gpu list gpu-node-1 gpu-node-2
      {prog} gpu list --unfit -o json | jq -r '.gpus[] | .nodeName + " " + (.info.index | tostring)'
    """  # noqa: D301 - click reads the \b
    server = chosen_server(context)
    response = _ask(server, nodes, only_unfit=unfit, max_age_s=max_age, timeout_s=timeout)
    _print(response, output, only_unfit=unfit)
    context.exit(ExitCode.INCOMPLETE if strict and response.missing else ExitCode.OK)


def _ask(
    server: Named | InCluster,
    nodes: tuple[str, ...],
    *,
    only_unfit: bool,
    max_age_s: float,
    timeout_s: float,
) -> health_pb2.ListGpusResponse:
    from gpupods.cli.asking import ask_server, server_hint  # noqa: PLC0415 - loads gRPC

    def hint(error: GpuPodsError) -> str:
        if error.code == "UNIMPLEMENTED":
            return "a controller of an older version lists no GPUs: upgrade it"
        if error.code == "NOT_FOUND" and nodes[:1] and nodes[0] in NODE_KINDS:
            return "write the node's name alone"
        return server_hint(error, timeout_s)

    return ask_server(
        server,
        lambda client: client.list_gpus_message(
            nodes, only_unfit=only_unfit, max_age_s=max_age_s, timeout_s=timeout_s
        ),
        hint,
    )


def _print(response: health_pb2.ListGpusResponse, output: str, *, only_unfit: bool) -> None:
    if write_document(response, output):
        return
    from gpupods.cli.output.gpu_list import print_gpu_list  # noqa: PLC0415 - loads rich
    from gpupods.client.convert_list import list_from  # noqa: PLC0415

    print_gpu_list(list_from(response), wide=output == "wide", only_unfit=only_unfit)
