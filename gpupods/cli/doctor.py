"""``gpupods doctor``: is everything in place, and if not, what is to be done?"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from gpupods.cli.answer_options import output_option, timeout_option
from gpupods.cli.exit_codes import ExitCode, doctor_exit_code_help
from gpupods.cli.failure import CommandFailed
from gpupods.cli.help_text import ProgramNameInHelp
from gpupods.cli.output.stdout import write_answer
from gpupods.cli.server_choice import InCluster, Named, chosen_server, server_options
from gpupods.client.channel import channel_target

if TYPE_CHECKING:
    from gpupods.doctor.report import Report

LOCAL_AGENT = "127.0.0.1:50051"


class NothingToExamine(CommandFailed):
    """There is neither a server nor a cluster to begin with."""

    exit_code = ExitCode.USAGE


@click.command("doctor", cls=ProgramNameInHelp, epilog=doctor_exit_code_help())
@output_option("wide shows nodes that are well, too; json and yaml are for programs.")
@click.option(
    "--agent",
    metavar="[HOST:PORT]",
    is_flag=False,
    flag_value=LOCAL_AGENT,
    help=f"Examine one node agent alone; without an address the one here, {LOCAL_AGENT}.",
)
@timeout_option("15s", "How long the controller, or the agent, may take for all of it.")
@server_options
@click.pass_context
def doctor(
    context: click.Context, /, output: str, agent: str | None, timeout: float, **_server: object
) -> None:
    """Examine the way to the controller, the controller, and the agent of every node.

    Each thing that is not well is shown with what to do about it. Nothing is changed.

    \b
    Examples:
      {prog} doctor
      {prog} doctor -o json
      {prog} doctor --server 127.0.0.1:50050
    In the pod of a node agent, or on its node:
      kubectl exec -n gpupods-system POD -- gpupods doctor --agent
    """  # noqa: D301 - click reads the \b
    server = chosen_server(context)
    if agent is not None and context.params["server"] and _written(context, "server"):
        raise click.UsageError("give either --server or --agent", context)
    report = _examine(server, _agent_target(agent, context), timeout)
    _print(report, output)
    from gpupods.diagnosis import Status  # noqa: PLC0415 - loads protobuf

    context.exit(ExitCode.REFUSED if report.status is Status.FAILED else ExitCode.OK)


def _written(context: click.Context, option: str) -> bool:
    from click.core import ParameterSource  # noqa: PLC0415

    return context.get_parameter_source(option) is ParameterSource.COMMANDLINE


def _agent_target(agent: str | None, context: click.Context) -> str | None:
    if agent is None:
        return None
    try:
        return channel_target(agent)
    except ValueError as error:
        raise click.BadParameter(str(error), context, param_hint="--agent") from None


def _examine(server: Named | InCluster, agent: str | None, timeout_s: float) -> Report:
    from gpupods.cli.output.terminal import console_for  # noqa: PLC0415 - loads rich
    from gpupods.cli.waiting import waiting  # noqa: PLC0415
    from gpupods.doctor.asking import ask_agent, ask_controller  # noqa: PLC0415 - loads gRPC
    from gpupods.doctor.report import Report  # noqa: PLC0415

    with waiting(console_for(sys.stderr), "examining ..."):
        if agent is not None:
            return Report(ask_agent(agent, timeout_s))
        if isinstance(server, Named):
            return Report(ask_controller(server.target, timeout_s, server.target))
        return _examine_cluster(server, timeout_s)


def _examine_cluster(where: InCluster, timeout_s: float) -> Report:
    from gpupods.doctor.access import access_to  # noqa: PLC0415
    from gpupods.doctor.asking import ask_controller  # noqa: PLC0415
    from gpupods.doctor.report import Report, access_findings  # noqa: PLC0415

    try:
        with access_to(where) as access:
            findings = access_findings(access.checks)
            if access.target is not None:
                findings += ask_controller(access.target, timeout_s)
            return Report(findings)
    except CommandFailed as error:
        raise NothingToExamine(error.message, error.hint) from error


def _print(report: Report, output: str) -> None:
    if output == "json":
        write_answer(json.dumps(report.document(), indent=2) + "\n")
        return
    if output == "yaml":
        import yaml  # noqa: PLC0415

        write_answer(yaml.safe_dump(report.document(), sort_keys=False))
        return
    from gpupods.cli.output.findings import lines  # noqa: PLC0415 - loads rich
    from gpupods.cli.output.terminal import console_for  # noqa: PLC0415

    console = console_for(sys.stdout)
    width = console.width if console.is_terminal else None
    with console.capture() as printed:
        for line in lines(report, wide=output == "wide", width=width):
            console.print(line, soft_wrap=True)
    write_answer(printed.get())
