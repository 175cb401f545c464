from __future__ import annotations

import pytest

from controller.cache.cluster import NODES, PODS, ClusterCache
from controller.cache.records import NodeRecord, Owner, PodRecord
from controller.diagnosis import judge
from controller.diagnosis.judge import Expectation
from controller.diagnosis.rights import Right, needed_rights
from controller.settings import ControllerSettings
from gpupods.diagnosis import Check, Status
from gpupods.identity import NodeName, PodUid
from gpupods.kube.status import ReflectorStatus

N1 = NodeName("n1")


def assert_is(check: Check, status: Status, *words: str) -> None:
    assert check.status is status, check
    assert (check.status is Status.OK) == (check.advice == ""), "what is not well has an advice"
    for each in words:
        assert each in f"{check.found} {check.advice}"


def cluster(*nodes: NodeRecord, synced: bool = True, agent_on: str = "") -> ClusterCache:
    cache = ClusterCache()
    for node in nodes:
        cache.put_node(node)
    if agent_on:
        owner = Owner("DaemonSet", judge.AGENT_DAEMONSET)
        cache.put_pod(
            PodRecord(PodUid("p"), "gpupods-system", "agent-1", NodeName(agent_on), "Running",
                      owner=owner)
        )  # fmt: skip
    if synced:
        cache.report_listed(PODS)
        cache.report_listed(NODES)
    return cache


def expectation(**node: object) -> Expectation:
    return Expectation(NodeRecord(N1, "u", ("10.0.0.1",), **node), None)  # type: ignore[arg-type]


def test_where_an_agent_is_expected() -> None:
    plain = NodeRecord(NodeName("cpu"), "1", ("10.0.0.1",))
    labelled = NodeRecord(NodeName("gpu"), "2", ("10.0.0.2",), has_gpus=True)
    with_pod = NodeRecord(NodeName("by-hand"), "3", ("10.0.0.3",))
    found = judge.expectations(cluster(plain, labelled, with_pod, agent_on="by-hand"))
    assert {each.node.name: each.is_expected for each in found} == {
        "cpu": False,
        "gpu": True,
        "by-hand": True,
    }
    assert [each.node.name for each in found] == ["by-hand", "cpu", "gpu"]


def test_the_api_server() -> None:
    assert_is(judge.api_server_check("v1.37.2", ""), Status.OK, "v1.37.2")
    assert_is(judge.api_server_check("", "no route to host"), Status.FAILED, "no route", "kubectl")


def test_the_cache() -> None:
    known = cluster(NodeRecord(N1, "u"))
    statuses = (ReflectorStatus("pods"), ReflectorStatus("nodes"))
    assert_is(judge.cache_check(known, statuses, ""), Status.OK, "0 pods and 1 nodes")
    stale = judge.cache_check(known, statuses, "the API server is not followed at present")
    assert_is(stale, Status.FAILED, "not followed")
    unknown = judge.cache_check(cluster(synced=False), statuses, "")
    assert_is(unknown, Status.FAILED, "pods: not listed yet")
    odd = judge.cache_check(known, (ReflectorStatus("pods", undecodable=2),), "")
    assert_is(odd, Status.WARNING, "2 times", "log")


def test_rights() -> None:
    assert_is(judge.rights_check([], ""), Status.OK)
    missing = [Right("watch", "nodes"), Right("update", "leases", "g", "ns", "l")]
    told = "may not watch nodes, update leases l in namespace ns"
    assert_is(judge.rights_check(missing, ""), Status.FAILED, told, "clusterrolebinding")
    assert_is(judge.rights_check([], "timeout"), Status.WARNING, "timeout")


@pytest.mark.parametrize(("elects", "leases"), [(False, 0), (True, 3)])
def test_which_rights_are_needed(*, elects: bool, leases: int) -> None:
    needed = needed_rights(ControllerSettings(leader_elect=elects), "gpupods-system")
    assert [str(each) for each in needed[:4]] == [
        "list pods",
        "watch pods",
        "list nodes",
        "watch nodes",
    ]
    assert len(needed) == 4 + leases


def test_which_rights_eviction_needs() -> None:
    needed = needed_rights(ControllerSettings(evict_after=3600.0), "gpupods-system")
    assert [str(each) for each in needed[4:]] == [
        "get pods",
        "create pods/eviction",
        "create events",
    ]


def test_which_rights_an_extender_needs() -> None:
    settings = ControllerSettings(scheduler_extender=True, leader_elect=True)
    needed = needed_rights(settings, "gpupods-system")
    assert [str(each) for each in needed[-2:]] == [
        "create pods/binding",
        "get pods in namespace gpupods-system",
    ]
    alone = needed_rights(ControllerSettings(scheduler_extender=True), "gpupods-system")
    assert str(alone[-1]) == "create pods/binding", "there is no leader to be found"


def test_the_leader() -> None:
    assert_is(judge.leader_check("this replica leads", leads=True, another=False), Status.OK)
    assert_is(judge.leader_check("x leads", leads=False, another=True), Status.OK)
    assert_is(judge.leader_check("nobody leads", leads=False, another=False), Status.FAILED)


def test_how_many_agents_there_are() -> None:
    assert_is(judge.agents_check(4, 4, []), Status.OK, "4 answer")
    assert_is(judge.agents_check(4, 4, ["a", "b", "c", "d"]), Status.OK, "a, b, c and 1 more")
    assert_is(judge.agents_check(3, 4, []), Status.FAILED, "3 answer, and 4 should")
    assert_is(judge.agents_check(0, 0, ["a"]), Status.WARNING, "gpupods.io/gpu=true")


def test_an_agent_that_does_not_answer() -> None:
    without_pod = judge.unanswered_check(expectation(has_gpus=True), "refused", 50051)
    assert_is(without_pod, Status.FAILED, "refused", "no pod of the DaemonSet", "affinity")
    (with_pod,) = judge.expectations(cluster(NodeRecord(N1, "u"), agent_on="n1"))
    check = judge.unanswered_check(with_pod, "refused", 50051)
    assert_is(check, Status.FAILED, "gpupods-system/agent-1 is Running", "kubectl logs", "50051")


def test_other_troubles_of_a_node() -> None:
    assert_is(judge.no_address_check(NodeRecord(N1, "u")), Status.FAILED, "no InternalIP")
    odd = judge.silent_about_itself_check("UNIMPLEMENTED")
    assert_is(odd, Status.WARNING, "UNIMPLEMENTED", "upgraded")
