"""The state of nodes follows pods, nodes and holds, and is what a fresh count would find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from controller.cache.cluster import ClusterCache
from controller.cache.gpus import GpuIndex
from controller.cache.records import NodeRecord, PodGpus, PodRecord
from gpupods.accounting.cards import Claim, account, capacity_of
from gpupods.accounting.indexes import format_index
from gpupods.accounting.request import GpuRequest
from gpupods.identity import NodeName, PodUid

CARD = 100
HOLD_S = 60.0


def node(name: str = "n1", *, unhealthy: str | None = None, gpus: int = 2) -> NodeRecord:
    return NodeRecord(
        NodeName(name),
        f"uid-{name}",
        unhealthy_ids=unhealthy,
        gpu_memory=str(CARD * gpus),
        gpu_number=str(gpus),
    )


def pod(
    name: str, *, node: str = "", memory: int = 60, index: str | None = None, phase: str = "Running"
) -> PodRecord:
    gpus = PodGpus(GpuRequest(memory, 0), index)
    return PodRecord(PodUid(name), "team", name, NodeName(node), phase, gpus=gpus)


def test_a_pod_comes_ends_and_goes() -> None:
    cache = ClusterCache()
    cache.put_node(node())
    assert cache.gpus.states()["n1"].most_idle == CARD
    cache.put_pod(pod("a", node="n1", index="0"))
    assert cache.gpus.states()["n1"].cards[0].idle == 40
    cache.put_pod(pod("a", node="n1", index="0", phase="Succeeded"))
    assert cache.gpus.states()["n1"].cards[0].idle == CARD
    cache.put_pod(pod("b", node="n1", index="1"))
    cache.remove_pod(PodUid("b"))
    assert cache.gpus.states()["n1"].cards[1].idle == CARD


def test_pods_that_come_before_their_node() -> None:
    cache = ClusterCache()
    cache.put_pod(pod("a", node="n1", index="0"))
    assert "n1" not in cache.gpus.states()
    cache.put_node(node())
    assert cache.gpus.states()["n1"].cards[0].idle == 40


def test_a_node_goes_and_another_of_its_name_comes() -> None:
    cache = ClusterCache()
    cache.put_node(node())
    cache.remove_node("uid-n1")
    assert cache.gpus.states() == {}
    cache.put_node(node(gpus=3))
    assert len(cache.gpus.states()["n1"].cards) == 3


def test_what_does_not_concern_gpus_costs_nothing() -> None:
    cache = ClusterCache()
    cache.put_node(node())
    before = cache.gpus.states()["n1"]
    cache.put_node(node())
    cache.put_pod(PodRecord(PodUid("plain"), "team", "plain", NodeName("n1"), "Running"))
    cache.remove_pod(PodUid("plain"))
    assert cache.gpus.states()["n1"] is before


def test_what_changes_of_a_pod_beside_its_gpus_costs_nothing() -> None:
    cache = ClusterCache()
    cache.put_node(node())
    cache.put_pod(pod("a", node="n1", index="0", phase="Pending"))
    before = cache.gpus.states()["n1"]
    cache.put_pod(pod("a", node="n1", index="0", phase="Running"))
    assert cache.gpus.states()["n1"] is before
    cache.put_pod(pod("a", node="n1", index="1"))
    assert cache.gpus.states()["n1"].cards[0].idle == CARD


def test_a_hold_is_replaced_by_the_pod() -> None:
    cache = ClusterCache()
    cache.put_node(node())
    waiting = pod("a")
    cache.put_pod(waiting)
    cache.gpus.hold(waiting, NodeName("n1"), GpuRequest(60, 0), (1,))
    assert cache.gpus.states()["n1"].cards[1].idle == 40
    cache.put_pod(pod("a", node="n1", index="1"))
    assert cache.gpus.states()["n1"].cards[1].idle == 40, "once, not twice"
    assert cache.gpus.held(PodUid("a"), NodeName("n1")) is None


def test_a_pod_that_was_bound_elsewhere_holds_nothing_here() -> None:
    cache = ClusterCache()
    for name in ("n1", "n2"):
        cache.put_node(node(name))
    cache.gpus.hold(pod("a"), NodeName("n1"), GpuRequest(60, 0), (0,))
    cache.put_pod(pod("a", node="n2", index="0"))
    states = cache.gpus.states()
    assert (states["n1"].cards[0].idle, states["n2"].cards[0].idle) == (CARD, 40)


NODES = ("n1", "n2")
PODS = ("a", "b", "c", "d")


class Follows(RuleBasedStateMachine):
    """Whatever happens in whatever order, the state is that of a count from the beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        clock: Callable[[], float] = lambda: self.now  # noqa: E731
        self.cache = ClusterCache(GpuIndex(clock, HOLD_S))
        self.nodes: dict[str, NodeRecord] = {}
        self.pods: dict[str, PodRecord] = {}
        self.holds: dict[tuple[str, str], tuple[int, int, float]] = {}

    @rule(name=st.sampled_from(NODES), unhealthy=st.sampled_from([None, "0", "1", "0,1", "x"]))
    def a_node_changes(self, name: str, unhealthy: str | None) -> None:
        self.nodes[name] = node(name, unhealthy=unhealthy)
        self.cache.put_node(self.nodes[name])

    @rule(name=st.sampled_from(NODES))
    def a_node_goes(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.cache.remove_node(f"uid-{name}")

    @rule(
        name=st.sampled_from(PODS),
        on=st.sampled_from(("", *NODES)),
        index=st.sampled_from([None, "0", "1", "0,1", "?"]),
        phase=st.sampled_from(["Pending", "Running", "Failed"]),
    )
    def a_pod_changes(self, name: str, on: str, index: str | None, phase: str) -> None:
        known = self.pods.get(name)
        changed = pod(
            name, node=known.node if known and known.node else on, index=index, phase=phase
        )
        if changed == known:
            return
        self.pods[name] = changed
        self.cache.put_pod(changed)
        if changed.node or phase == "Failed":
            self._drop_holds(name)

    @rule(name=st.sampled_from(PODS))
    def a_pod_goes(self, name: str) -> None:
        if self.pods.pop(name, None) is not None:
            self._drop_holds(name)
        self.cache.remove_pod(PodUid(name))

    def _drop_holds(self, name: str) -> None:
        for key in [key for key in self.holds if key[0] == name]:
            del self.holds[key]

    @rule(name=st.sampled_from(PODS), on=st.sampled_from(NODES), card=st.integers(0, 1))
    def cards_are_held(self, name: str, on: str, card: int) -> None:
        waiting = self.pods.get(name)
        if waiting is None or waiting.node or waiting.phase == "Failed":
            return
        self.cache.gpus.hold(waiting, NodeName(on), GpuRequest(60, 0), (card,))
        self.holds[name, on] = (60, card, self.now + HOLD_S)

    @rule(seconds=st.floats(0, 2 * HOLD_S))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def as_if_counted_now(self) -> None:
        states: dict[str, Any] = dict(self.cache.gpus.states())
        assert states.keys() == self.nodes.keys()
        for name, record in self.nodes.items():
            fresh = account(
                capacity_of(record.gpu_memory, record.gpu_number),
                record.unhealthy_ids,
                self._claims(name),
            )
            assert states[name].cards == fresh.cards
            assert (states[name].most_idle, states[name].free) == (fresh.most_idle, fresh.free)

    def _claims(self, name: str) -> list[Claim]:
        claims = [
            Claim(str(each.ref), each.gpus.request, each.gpus.index)
            for each in self.pods.values()
            if each.node == name and each.gpus is not None and each.phase != "Failed"
        ]
        for (_, on), (memory, card, until) in self.holds.items():
            if on == name and until > self.now:
                claims.append(Claim("hold", GpuRequest(memory, 0), format_index((card,))))
        return claims


Follows.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestFollows = Follows.TestCase
