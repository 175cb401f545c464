"""What is to be said of the controller and of its nodes. Pure: from facts to checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controller.cache.cluster import ClusterCache
from controller.cache.records import NodeRecord, PodRecord
from controller.diagnosis.rights import Right
from gpupods.diagnosis import Check, failed, ok, warning
from gpupods.kube.status import ReflectorStatus

API_SERVER = "API server"
CACHE = "cache"
RIGHTS = "rights"
LEADER = "leader"
AGENTS = "agents"
AGENT = "agent"

AGENT_DAEMONSET = "gpupods-nodeagent"
"""Of the manifests and the chart: by it an agent's pod is known."""

NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Expectation:
    """A node, and why an agent is expected there, if one is."""

    node: NodeRecord
    agent_pod: PodRecord | None

    @property
    def is_expected(self) -> bool:
        """Whether the agent is missed if it does not answer."""
        return self.agent_pod is not None or self.node.has_gpus


def expectations(cache: ClusterCache) -> list[Expectation]:
    """What to expect of every node, by name."""
    nodes = sorted(cache.nodes(), key=lambda node: node.name)
    return [Expectation(node, agent_pod(cache, node)) for node in nodes]


def agent_pod(cache: ClusterCache, node: NodeRecord) -> PodRecord | None:
    """The pod of the node agent that is on ``node``."""
    for pod in cache.pods_on(node.name):
        owner = pod.owner
        if owner is not None and (owner.kind, owner.name) == ("DaemonSet", AGENT_DAEMONSET):
            return pod
    return None


def api_server_check(version: str, problem: str) -> Check:
    """Whether the API server answers; ``version`` is what it calls itself."""
    if problem:
        return failed(
            API_SERVER,
            problem,
            "does `kubectl get --raw /version` work from the controller's node, and are its "
            "credentials those of its service account?",
        )
    return ok(API_SERVER, f"answers: {version}")


def cache_check(cache: ClusterCache, statuses: Sequence[ReflectorStatus], stale: str) -> Check:
    """Whether pods and nodes are known, and followed.

    ``stale`` says since when they are not, empty if they are.
    """
    if not cache.synced:
        return failed(
            CACHE,
            f"not all is known yet: {cache.why_not_synced()}",
            "wait a moment after a start; else the reason says what hinders it",
        )
    if stale:
        return failed(CACHE, stale, "answers are right as of then; see the check of the API server")
    counts = f"{cache.pod_count()} pods and {cache.node_count()} nodes"
    undecodable = sum(status.undecodable for status in statuses)
    if undecodable:
        return warning(
            CACHE,
            f"{counts} are known; objects could not be read {undecodable} times, and are left out",
            "the controller's log has their names and what is wrong; please report it",
        )
    return ok(CACHE, f"{counts} are known and followed")


def rights_check(missing: Sequence[Right], problem: str) -> Check:
    """Whether the controller may do what it must."""
    if problem:
        return warning(RIGHTS, f"it cannot be found out: {problem}", "ask again")
    if missing:
        return failed(
            RIGHTS,
            f"the controller may not {', '.join(map(str, missing))}",
            "bind its service account to the role of the manifests "
            "(kubectl get clusterrolebinding,rolebinding -A | grep gpupods-controller)",
        )
    return ok(RIGHTS, "the controller may do what it must")


def leader_check(standing: str, *, leads: bool, another: bool) -> Check:
    """Whether one of the replicas leads; ``another`` is whether that is another one."""
    if leads or another:
        return ok(LEADER, standing)
    return failed(
        LEADER,
        standing,
        "after a crash it takes 3 s until another leads; else see the rights on leases, and the "
        "API server",
    )


def agents_check(answered: int, expected: int, without: Sequence[str]) -> Check:
    """How many agents there are.

    Args:
        answered: Agents that have answered.
        expected: Nodes where one should.
        without: Nodes where none has, and none is expected.
    """
    none_there = ""
    if without:
        more = f" and {len(without) - NAMES_SHOWN} more" if len(without) > NAMES_SHOWN else ""
        none_there = f"; none is expected on {', '.join(without[:NAMES_SHOWN])}{more}"
    if not answered and not expected:
        return warning(
            AGENTS,
            f"no agent answers{none_there}",
            "no node is known to have GPUs: label those that have, kubectl label node NAME "
            "gpupods.io/gpu=true, and see whether the DaemonSet has pods there",
        )
    if answered < expected:
        return failed(
            AGENTS, f"{answered} answer, and {expected} should{none_there}", "see the nodes below"
        )
    return ok(AGENTS, f"{answered} answer{none_there}")


def no_address_check(node: NodeRecord) -> Check:
    """A node that nobody can ask."""
    return failed(
        AGENT,
        f"node {node.name} has no InternalIP, so its agent cannot be asked",
        "its kubelet or cloud controller has to report one (kubectl get node -o wide)",
    )


def unanswered_check(expectation: Expectation, problem: str, agent_port: int) -> Check:
    """An agent that should answer, and does not."""
    pod = expectation.agent_pod
    if pod is None:
        return failed(
            AGENT,
            f"{problem}; no pod of the DaemonSet {AGENT_DAEMONSET} is on this node",
            f"kubectl get daemonset -A, and describe {AGENT_DAEMONSET}: do its node affinity and "
            "tolerations let it run here?",
        )
    return failed(
        AGENT,
        f"{problem}; its pod {pod.ref} is {pod.phase or 'in an unknown phase'}",
        f"kubectl logs -n {pod.namespace} {pod.name}; if it runs, does something between the "
        f"controller and the node close port {agent_port}?",
    )


def silent_about_itself_check(details: str) -> Check:
    """Something answers and knows no diagnosis."""
    return warning(
        AGENT,
        f"what listens there knows no diagnosis: {details}",
        "an agent of an older version is to be upgraded; else another program has the port",
    )
