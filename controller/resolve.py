"""worker_id -> pod -> node -> addresses: look-ups in the cache, and an error for each dead end.

No I/O: the cache is asked, never filled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from controller.cache.cluster import ClusterCache
from controller.cache.records import PodRecord
from controller.near_names import near_pods
from gpupods.errors import (
    Reason,
    StatusError,
    failed_precondition,
    invalid_argument,
    not_found,
    unavailable,
)
from gpupods.identity import NodeName, PodRef, PodUid
from gpupods.logs import shorten

LONGEST_POD_ID = 253 + 1 + 253
CANDIDATES_SHOWN = 10
DNS_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

WANTED = 'worker_id is a pod: "namespace/name", "name" or its uid'


@dataclass(frozen=True, slots=True)
class ResolvedPod:
    """A pod, and where the agent of its node is to be found."""

    pod: PodRecord
    node: NodeName
    addresses: tuple[str, ...]
    """The node's InternalIPs in its own order, at least one."""

    @property
    def asked_for(self) -> str:
        """Said where its agent is spoken of."""
        return f" (of pod {self.pod.ref})"


def check_synced(cache: ClusterCache) -> None:
    """Refuse to answer from a cache that may lack anything.

    Raises:
        StatusError: UNAVAILABLE: pods or nodes have not been listed yet.
    """
    if not cache.synced:
        raise unavailable(
            "the controller has not yet learnt all pods and nodes from the API server "
            f"({cache.why_not_synced()}); try again in a moment"
        )


def resolve(worker_id: str, cache: ClusterCache) -> ResolvedPod:
    """Find the pod that ``worker_id`` names, and its node's addresses.

    Raises:
        StatusError: INVALID_ARGUMENT if it names no possible pod; UNAVAILABLE before the cache
            has been filled; NOT_FOUND for a pod that is not there, or whose node is not;
            FAILED_PRECONDITION if several pods have the name, the pod is not scheduled, or its
            node has no InternalIP.
    """
    _check_form(worker_id)
    check_synced(cache)
    pod = _find_pod(worker_id, cache)
    if not pod.node:
        raise failed_precondition(
            f"pod {pod.ref} is not scheduled to a node yet (phase {pod.phase or 'unknown'}); "
            f"kubectl describe pod -n {pod.namespace} {pod.name} tells why",
            Reason.POD_NOT_SCHEDULED,
        )
    return ResolvedPod(pod, pod.node, _addresses(pod, cache))


def _check_form(worker_id: str) -> None:
    if not worker_id:
        raise invalid_argument(f"worker_id is empty; {WANTED}")
    if len(worker_id) > LONGEST_POD_ID:
        raise invalid_argument(
            f"worker_id {shorten(worker_id)!r} is longer than any pod's id; {WANTED}"
        )
    if worker_id.lstrip().startswith(("{", "[")):
        raise invalid_argument(
            f"worker_id {shorten(worker_id)!r} looks like JSON, which is for node agents; "
            f"at the controller {WANTED}"
        )
    if not worker_id.isprintable():
        raise invalid_argument(f"worker_id {shorten(worker_id)!r} has control characters; {WANTED}")


def _find_pod(worker_id: str, cache: ClusterCache) -> PodRecord:
    namespace, slash, name = worker_id.partition("/")
    if slash:
        pod = cache.pod_by_ref(PodRef(namespace, name))
        return pod or _fail_ref(worker_id, namespace, name, cache)
    pod = cache.pod_by_uid(PodUid(worker_id))
    if pod is not None:
        return pod
    pods = cache.pods_named(worker_id)
    if len(pods) == 1:
        return pods[0]
    if not pods:
        raise _no_such_pod(worker_id, cache)
    return _newest_of_one_name(worker_id, pods)


def _newest_of_one_name(name: str, pods: tuple[PodRecord, ...]) -> PodRecord:
    """The one pod, if all share a namespace: one is then just being replaced by the other."""
    refs = sorted({pod.ref for pod in pods})
    if len(refs) == 1:
        return pods[-1]
    shown = ", ".join(str(ref) for ref in refs[:CANDIDATES_SHOWN])
    more = len(refs) - CANDIDATES_SHOWN
    and_more = f" and {more} more" if more > 0 else ""
    raise failed_precondition(
        f"{len(refs)} pods are named {name!r}: {shown}{and_more}; ask for one by namespace/name",
        Reason.AMBIGUOUS_POD,
    )


def _fail_ref(worker_id: str, namespace: str, name: str, cache: ClusterCache) -> PodRecord:
    if not DNS_NAME.fullmatch(namespace) or not DNS_NAME.fullmatch(name):
        raise invalid_argument(f"{worker_id!r} names no possible pod; {WANTED}")
    elsewhere = sorted(str(pod.ref) for pod in cache.pods_named(name))[:CANDIDATES_SHOWN]
    if not elsewhere:
        elsewhere = near_pods(name, (pod for pod in cache.pods() if pod.namespace == namespace))
    hint = f"; there is {', '.join(elsewhere)}" if elsewhere else "; is the namespace right?"
    raise not_found(f"there is no pod {name!r} in namespace {namespace!r}{hint}")


def _no_such_pod(worker_id: str, cache: ClusterCache) -> StatusError:
    if UID.fullmatch(worker_id):
        return not_found(f"there is no pod with uid {worker_id!r}; has it been deleted?")
    if not DNS_NAME.fullmatch(worker_id):
        return invalid_argument(f"{worker_id!r} names no possible pod; {WANTED}")
    near = near_pods(worker_id, cache.pods())
    hint = f"there is {', '.join(near)}" if near else "kubectl get pods -A lists them"
    return not_found(f"there is no pod named {worker_id!r} in any namespace; {hint}")


def _addresses(pod: PodRecord, cache: ClusterCache) -> tuple[str, ...]:
    node = cache.node(pod.node)
    if node is None:
        raise not_found(
            f"pod {pod.ref} is on node {pod.node!r}, which the cluster does not have (any more)"
        )
    if not node.internal_ips:
        raise failed_precondition(
            f"node {pod.node!r} of pod {pod.ref} has no InternalIP among its addresses; its "
            "kubelet or cloud controller has to report one (kubectl get node -o wide)"
        )
    return node.internal_ips
