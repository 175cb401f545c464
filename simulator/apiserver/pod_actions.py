"""What is asked of a pod by its subresources: to be bound to a node, and to be evicted."""

from __future__ import annotations

from typing import Any

from gpupods.identity import NodeName
from simulator.apiserver.creation import container_plans, wanted_again
from simulator.apiserver.faults import Faults
from simulator.apiserver.pod_object import Json
from simulator.apiserver.requests import Target
from simulator.apiserver.status import (
    StatusError,
    bad_request,
    budget_violated,
    done,
    invalid,
    not_found,
    wrong_uid,
)
from simulator.apiserver.store import Store
from simulator.apiserver.truths import pod_behind
from simulator.changes import bind_pod, delete_pod
from simulator.model import Cluster, SimPod


def bind(cluster: Cluster, store: Store, target: Target, body: Any) -> Json:
    """Bind a pod to the node that the Binding names; its containers start there.

    The binding's annotations are added to the pod's, as the real server does.

    Raises:
        StatusError: 404, there is no such pod, or (unlike the real server) no such node; 409, it
            is bound already, or is another pod than was meant; 422, this is no Binding.
    """
    pod = pod_behind(cluster, store, target)
    try:
        node_name = NodeName(body["target"]["name"])
        metadata = body.get("metadata") or {}
        annotations = {str(k): str(v) for k, v in (metadata.get("annotations") or {}).items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise invalid(f"this is not a Binding: {error!r}") from error
    _check_uid(pod, target, metadata.get("uid"))
    if pod.node is not None:
        raise _bound_already(pod)
    node = cluster.nodes.get(node_name)
    if node is None:
        raise not_found("nodes", node_name)
    pod.annotations |= annotations
    wanted = [wanted_again(container) for container in pod.containers]
    bind_pod(cluster, pod, node, container_plans(node, wanted, pod.annotations))
    return done()


def _bound_already(pod: SimPod) -> StatusError:
    where = pod.node.name if pod.node is not None else ""
    said = f'pod {pod.name} is already assigned to node "{where}"'
    return StatusError(
        409, "Conflict", f'Operation cannot be fulfilled on pods/binding "{pod.name}": {said}'
    )


def evict(cluster: Cluster, store: Store, faults: Faults, target: Target, body: Any) -> Json:
    """Delete a pod at once, unless `Faults.protected` says that a budget does not allow it.

    Raises:
        StatusError: 400, this is no Eviction; 404; 409, it is another pod than was meant; 429, a
            disruption budget does not allow it.
    """
    pod = pod_behind(cluster, store, target)
    if not isinstance(body, dict) or body.get("kind", "Eviction") != "Eviction":
        raise bad_request("this is not an Eviction")
    name = (body.get("metadata") or {}).get("name", target.name)
    if name != target.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = body.get("deleteOptions") or {}
    _check_uid(pod, target, (options.get("preconditions") or {}).get("uid"))
    if str(pod.ref) in faults.protected:
        raise budget_violated()
    if not options.get("dryRun"):
        delete_pod(cluster, pod)
    return done()


def _check_uid(pod: SimPod, target: Target, wanted: str | None) -> None:
    if wanted not in (None, "", pod.uid):
        raise wrong_uid(target.resource, target.name, wanted or "", pod.uid)
