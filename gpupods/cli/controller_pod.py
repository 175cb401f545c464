"""Finds the controller's pod through the Kubernetes API, and forwards a port to it.

Where the cluster is and by which credentials, `gpupods.kube.kubeconfig` finds out.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from http import HTTPStatus
from threading import Thread
from typing import Any, TypeAlias, TypeVar

from gpupods.cli.failure import CommandFailed, NoAnswer
from gpupods.cli.portforward import PortForward, Stream
from gpupods.cli.server_choice import PORT_NAME, SERVER_VARIABLE, InCluster
from gpupods.kube.kubeconfig import Kubeconfig, source_of_access

CoreV1Api: TypeAlias = Any
"""kubernetes.client.CoreV1Api, and its models below, have no types."""
Pod: TypeAlias = Any

T = TypeVar("T")

SETUP_LIMIT_S = 30.0
"""For finding the pod and opening the forward, credential plugins and all."""


def forward_to_controller(where: InCluster) -> PortForward:
    """An open port-forward to the controller's pod; the caller closes it.

    Raises:
        CommandFailed: no kubeconfig, no such pod, or the API server refuses.
        NoAnswer: the API server is not reached, or is not done in SETUP_LIMIT_S.
    """
    return within(SETUP_LIMIT_S, lambda: _forward(where))


def within(limit_s: float, work: Callable[[], T]) -> T:
    """Do ``work`` in a thread, for at most ``limit_s`` seconds.

    Connecting a WebSocket and running a credential plugin have no time limit of their own. A
    thread that hangs is left behind: it does not keep the process from ending.
    """
    done: Future[T] = Future()

    def work_and_tell() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            done.set_exception(error)

    Thread(target=work_and_tell, daemon=True).start()
    try:
        return done.result(limit_s)
    except FutureTimeoutError:
        raise NoAnswer(
            f"the Kubernetes API server has not opened a port-forward within {limit_s:g} s",
            f"does `kubectl get pods` work? --server or {SERVER_VARIABLE} needs no port-forward",
        ) from None


def _forward(where: InCluster) -> PortForward:
    from kubernetes.client.exceptions import ApiException  # noqa: PLC0415 - 0.6 s to load
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    # Each retry is a warning there; what comes of it is raised in the end.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    api = core_api(where)
    try:
        pods = api.list_namespaced_pod(
            where.namespace, label_selector=where.selector, _request_timeout=SETUP_LIMIT_S
        ).items
        pod = choose_pod(pods, where)
        port = where.port or choose_port(pod)
        return PortForward(lambda: _open_stream(api, pod, port))
    except ApiException as error:
        raise _refused(error, where) from error
    except (HTTPError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise NoAnswer(f"the Kubernetes API server was not reached: {reason}") from error


def core_api(where: InCluster) -> CoreV1Api:
    """The Kubernetes API, as the kubeconfig or the pod has it; nothing is asked yet.

    Raises:
        CommandFailed: there is no configuration, or it cannot be used.
    """
    from kubernetes import client, config  # noqa: PLC0415

    configuration = client.Configuration()  # with the proxies of the environment, as for kubectl
    try:
        source = source_of_access(where.kubeconfig or "", where.context or "")
        if isinstance(source, Kubeconfig):
            source.load(configuration)
        else:
            config.load_incluster_config(client_configuration=configuration)
    except (ValueError, config.ConfigException) as error:
        raise CommandFailed(
            f"no server was named, and no cluster can be asked: {error}",
            f"name a controller with --server or {SERVER_VARIABLE}, or a cluster with "
            "--kubeconfig; none at hand? `gpupods simulate` runs one, and prints how to ask it",
        ) from error
    return client.CoreV1Api(client.ApiClient(configuration))


def choose_pod(pods: Sequence[Pod], where: InCluster) -> Pod:
    """The controller's pod: a ready one, by name if there are several.

    Raises:
        CommandFailed: there is none.
        NoAnswer: there are some, and none is ready.
    """
    sought = f"{where.selector} in namespace {where.namespace!r}"
    if not pods:
        raise CommandFailed(
            f"the cluster has no controller: no pod is labelled {sought}",
            "is it installed there, and is this the right context? --controller-namespace and "
            f"--controller-selector look elsewhere; --server or {SERVER_VARIABLE} names a server",
        )
    ready = sorted((pod for pod in pods if _is_ready(pod)), key=lambda pod: str(pod.metadata.name))
    if ready:
        return ready[0]
    states = ", ".join(f"{pod.metadata.name} ({pod.status.phase})" for pod in pods)
    raise NoAnswer(
        f"no controller is ready: {states}",
        f"kubectl describe pod -n {where.namespace} {pods[0].metadata.name} tells why",
    )


def _is_ready(pod: Pod) -> bool:
    if pod.metadata.deletion_timestamp is not None:
        return False
    conditions = pod.status.conditions or ()
    return any(each.type == "Ready" and each.status == "True" for each in conditions)


def choose_port(pod: Pod) -> int:
    """The container port named "grpc".

    Raises:
        CommandFailed: the pod has none.
    """
    ports = [port for container in pod.spec.containers for port in container.ports or ()]
    for port in ports:
        if port.name == PORT_NAME:
            return int(port.container_port)
    listed = ", ".join(f"{port.name or 'unnamed'} {port.container_port}" for port in ports)
    raise CommandFailed(
        f"pod {pod.metadata.name} has no port named {PORT_NAME}; it has {listed or 'none'}",
        "--controller-port names it by number",
    )


def _open_stream(api: CoreV1Api, pod: Pod, port: int) -> Stream:
    from kubernetes.stream import portforward  # noqa: PLC0415

    forward = portforward(
        api.connect_get_namespaced_pod_portforward,
        pod.metadata.name,
        pod.metadata.namespace,
        ports=str(port),
    )
    return Stream(forward.socket(port), lambda: forward.error(port) or "")


def _refused(error: Any, where: InCluster) -> CommandFailed:
    """``error`` is an ApiException."""
    status, reason = _status_and_message(error)
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return CommandFailed(
            f"the Kubernetes API server refuses: {reason}",
            "a port-forward needs to list pods, and to get and create pods/portforward, in "
            f"namespace {where.namespace!r}",
        )
    return NoAnswer(f"the Kubernetes API server did not open the port-forward: {reason}")


def _status_and_message(error: Any) -> tuple[int, str]:
    """HTTP's status, and the message of a Kubernetes Status if the body is one.

    What a WebSocket was refused with is found in the exception that this one was made from.
    """
    status, body, reason = error.status, error.body, error.reason
    refusal = error.__context__
    if hasattr(refusal, "resp_body"):  # the WebSocket library's, that `kubernetes` brings
        status, body, reason = refusal.status_code, refusal.resp_body, f"HTTP {refusal.status_code}"
    try:
        return status, str(json.loads(body)["message"])
    except (TypeError, ValueError, KeyError):
        return status, str(reason)
