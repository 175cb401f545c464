"""``gpupods get POD``: ask, and print the answer as a table or as a document."""

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
from gpupods.cli.help_text import ProgramNameInHelp
from gpupods.cli.question import Question, hint_on_kind
from gpupods.cli.server_choice import chosen_server, server_options

if TYPE_CHECKING:
    from gpupods.v1alpha1 import gpupods_pb2 as pb


class GetCommand(ProgramNameInHelp):
    """As kubectl's own `get` wants a kind before the name, people write one here, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See click; with a hint."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            hint = hint_on_kind(ctx.params.get("pod"))
            if not hint or "unexpected extra" not in error.message:
                raise
            raise click.UsageError(f"{error.message}: {hint}.", ctx) from None


@click.command("get", cls=GetCommand, epilog=exit_code_help())
@click.argument("pod")
@click.option("-n", "--namespace", help="The pod's namespace; or write NAMESPACE/NAME as POD.")
@output_option()
@click.option("--only-this-pod", is_flag=True, help="Leave out the processes of other pods.")
@max_age_option
@timeout_option("5s", "How long to wait for the answer, repeated tries included.")
@strict_option
@server_options
@click.pass_context
def get(
    context: click.Context,
    /,
    pod: str,
    namespace: str | None,
    output: str,
    *,
    only_this_pod: bool,
    max_age: float,
    timeout: float,
    strict: bool,
    **_server: object,
) -> None:
    """Show the GPUs of the node that POD runs on, and whose processes are on them.

    POD is a name, if only one namespace has it, NAMESPACE/NAME, or a pod's uid. All pods of the
    node are shown; the rows of POD are marked with "*". What is not known is "?", never 0.

    \b
    Examples:
      {prog} get train-0
      {prog} get team-a/train-0 -o wide
      {prog} get train-0 -n team-a --only-this-pod
      {prog} get train-0 --server 127.0.0.1:50050 -o json
    """  # noqa: D301 - click reads the \b
    question = Question(worker_id(pod, namespace), only_this_pod, max_age, timeout)
    server = chosen_server(context)
    from gpupods.cli.asking import ask  # noqa: PLC0415 - loads gRPC, which --help can do without

    response = ask(server, question)
    _print(response, question, output)
    context.exit(ExitCode.INCOMPLETE if strict and response.missing else ExitCode.OK)


def worker_id(pod: str, namespace: str | None) -> str:
    """POD and --namespace as the server takes them.

    Raises:
        click.UsageError: they name two namespaces, or are not text.
    """
    if not (pod + (namespace or "")).isprintable():
        raise click.UsageError("POD and --namespace are names: no control characters, no bytes")
    written, slash, name = pod.rpartition("/")
    if not namespace:
        return pod
    if slash and written != namespace:
        raise click.UsageError(f"POD says namespace {written!r}, --namespace {namespace!r}")
    return f"{namespace}/{name}"


def _print(response: pb.GetGpuPodsResponse, question: Question, output: str) -> None:
    if write_document(response, output):
        return
    from gpupods.cli.output.terminal import print_for_people  # noqa: PLC0415 - loads rich
    from gpupods.client.convert import answer_from  # noqa: PLC0415

    print_for_people(answer_from(response), question, wide=output == "wide")
