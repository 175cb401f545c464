"""Which server a command asks: the one that was named, or the controller in the cluster.

What was written on the command line comes before the environment, and the environment before
looking into the cluster.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from gpupods.addresses import MAX_PORT
from gpupods.cli.failure import NoAnswer, NotReached
from gpupods.cli.names import PlainText
from gpupods.client.channel import channel_target

SERVER_VARIABLE = "GPUPODS_SERVER"
NAMESPACE = "gpupods-system"
SELECTOR = "app.kubernetes.io/name=gpupods,app.kubernetes.io/component=controller"
PORT_NAME = "grpc"

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class InCluster:
    """A controller to be found through the Kubernetes API, and reached by port-forward.

    ``kubeconfig`` and ``context`` None are kubectl's defaults; ``port`` None is the container's
    port named "grpc".
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str = NAMESPACE
    selector: str = SELECTOR
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A server that is called directly, as `gpupods.client.channel.channel_target` gave it."""

    target: str


def server_options(command: F) -> F:
    """Add the options that say which server is asked; `chosen_server` reads them."""
    options = [
        click.option(
            "--server",
            metavar="HOST:PORT",
            envvar=SERVER_VARIABLE,
            show_envvar=True,
            help="The controller. Without it: port-forward to the controller in the cluster.",
        ),
        click.option(
            "--kubeconfig", type=click.Path(exists=True, dir_okay=False), help="As in kubectl."
        ),
        click.option("--context", "kube_context", help="As in kubectl: the kubeconfig's context."),
        click.option(
            "--controller-namespace", default=NAMESPACE, show_default=True, type=PlainText(),
            help="Where the controller runs, for the port-forward.",
        ),
        click.option(
            "--controller-selector", default=SELECTOR, metavar="LABELS", type=PlainText(),
            help="The labels of the controller's pod; by default those it is installed with.",
        ),
        click.option(
            "--controller-port", type=click.IntRange(1, MAX_PORT), metavar="1-65535",
            help=f"Its port. Without it: the container's port named {PORT_NAME}.",
        ),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def chosen_server(context: click.Context) -> Named | InCluster:
    """What the options of `server_options` say.

    Raises:
        click.UsageError: they contradict each other, or the server is no address.
    """
    given = context.params
    server: str | None = given["server"]
    through_cluster = given["kubeconfig"] or given["kube_context"]
    if server and through_cluster:
        if context.get_parameter_source("server") is not ParameterSource.ENVIRONMENT:
            raise click.UsageError("give either --server, or --kubeconfig and --context", context)
        server = None
    if server:
        try:
            return Named(channel_target(server))
        except ValueError as error:
            raise click.BadParameter(str(error), context, param_hint="--server") from None
    return InCluster(
        kubeconfig=given["kubeconfig"],
        context=given["kube_context"],
        namespace=given["controller_namespace"],
        selector=given["controller_selector"],
        port=given["controller_port"],
    )


@contextlib.contextmanager
def reachable(server: Named | InCluster) -> Iterator[str]:
    """The target to call while inside: for a controller in the cluster, a port-forward to it.

    Raises:
        CommandFailed: the port-forward cannot be opened, or the call failed because it broke.
    """
    if isinstance(server, Named):
        yield server.target
        return
    from gpupods.cli.controller_pod import forward_to_controller  # noqa: PLC0415 - slow to load

    with forward_to_controller(server) as forward:
        try:
            yield forward.target
        except NotReached as error:
            raise NoAnswer(f"the port-forward broke: {forward.problem}") from error
