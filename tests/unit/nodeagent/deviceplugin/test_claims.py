"""Whose turn it is: matching, and what it comes to when pods arrive in any order."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from gpupods.identity import PodRef, PodUid
from nodeagent.deviceplugin.claims import Claims, Match, are_peers, match
from nodeagent.deviceplugin.pods import Ask, GpuPod


def pod(
    name: str,
    *counts: int,
    indexes: tuple[int, ...] = (0,),
    time_ns: int = 1,
    assigned: bool = False,
    resource: str = GPU_MEMORY,
) -> GpuPod:
    asks = tuple(Ask(f"c{at}", resource, count, 0) for at, count in enumerate(counts))
    return GpuPod(PodUid(name), PodRef("team", name), asks, indexes, "", time_ns, assigned=assigned)


def named(found: Match | None) -> str:
    return "" if found is None else f"{found.pod.ref.name}.{found.ask.container}"


def test_the_one_that_was_chosen_first() -> None:
    pods = [pod("late", 5, time_ns=3), pod("first", 5, time_ns=1), pod("second", 5, time_ns=2)]
    assert named(match(pods, {}, GPU_MEMORY, 5)) == "first.c0"


def test_only_as_many_as_are_asked_for() -> None:
    assert match([pod("one", 5)], {}, GPU_MEMORY, 4) is None
    assert match([pod("one", 5)], {}, GPU_NUMBER, 5) is None


def test_not_one_that_has_its_gpus() -> None:
    assert match([pod("one", 5, assigned=True)], {}, GPU_MEMORY, 5) is None


def test_one_without_chosen_gpus_only_if_there_is_no_other() -> None:
    nobody, chosen = pod("nobody", 5, indexes=(), time_ns=1), pod("chosen", 5, time_ns=2)
    assert named(match([nobody, chosen], {}, GPU_MEMORY, 5)) == "chosen.c0"
    assert named(match([nobody], {}, GPU_MEMORY, 5)) == "nobody.c0"


def test_containers_come_in_their_order_and_a_pod_is_finished_first() -> None:
    claims = Claims()
    pods = [pod("one", 5, 5, time_ns=2), pod("other", 5, 5, time_ns=1)]
    order = []
    for number in range(4):
        found = claims.match(pods, GPU_MEMORY, 5)
        assert found is not None
        order.append(named(found))
        claims.take(found, frozenset({str(number)}))
    assert order == ["other.c0", "other.c1", "one.c0", "one.c1"]
    assert claims.match(pods, GPU_MEMORY, 5) is None


def test_a_container_whose_turn_it_is_not_is_not_meant() -> None:
    assert match([pod("one", 5, 7)], {}, GPU_MEMORY, 7) is None


def test_the_last_of_a_pod_s_requests_is_known() -> None:
    claims, one = Claims(), pod("one", 5, 7)
    first = claims.match([one], GPU_MEMORY, 5)
    assert first is not None
    assert not claims.take(first, frozenset("a"))
    second = claims.match([one], GPU_MEMORY, 7)
    assert second is not None
    assert claims.take(second, frozenset("b"))


def test_a_claim_that_was_released_can_be_taken_again() -> None:
    claims, one = Claims(), pod("one", 5)
    found = claims.match([one], GPU_MEMORY, 5)
    assert found is not None
    claims.take(found, frozenset("a"))
    claims.release((GPU_MEMORY, frozenset("a")))
    assert named(claims.match([one], GPU_MEMORY, 5)) == "one.c0"


def test_a_claim_that_was_released_is_open_whatever_the_pod_says() -> None:
    claims, one = Claims(), pod("one", 5)
    found = claims.match([one], GPU_MEMORY, 5)
    assert found is not None
    claims.take(found, frozenset("a"))
    marked = replace(one, assigned=True)
    assert claims.match([marked], GPU_MEMORY, 5) is None
    claims.release((GPU_MEMORY, frozenset("a")))
    assert named(claims.match([marked], GPU_MEMORY, 5)) == "one.c0"


def test_one_that_was_turned_away_comes_last_until_it_is_gone() -> None:
    claims, pods = Claims(), [pod("one", 5, 5, time_ns=1), pod("two", 5, time_ns=2)]
    found = claims.match(pods, GPU_MEMORY, 5)
    assert found is not None
    claims.take(found, frozenset("a"))
    claims.turn_away(pods[0])
    assert named(claims.match(pods, GPU_MEMORY, 5)) == "two.c0"
    assert named(claims.match(pods[:1], GPU_MEMORY, 5)) == "one.c1"
    assert claims.match([], GPU_MEMORY, 5) is None
    assert named(claims.match(pods, GPU_MEMORY, 5)) == "one.c0", "another of its uid: it is new"


def test_what_the_kubelet_does_not_tell_of_is_not_taken_back() -> None:
    claims = Claims()
    init = GpuPod(
        PodUid("i"), PodRef("team", "i"), (Ask("init", GPU_MEMORY, 5, 0, told=False),), (0,)
    )
    found = claims.match([init], GPU_MEMORY, 5)
    assert found is not None
    claims.take(found, frozenset("a"))
    assert claims.unsettled() == ()
    assert claims.given((GPU_MEMORY, frozenset("a"))) is not None


def test_devices_that_are_given_again_were_given_up() -> None:
    claims, pods = Claims(), [pod("one", 5), pod("two", 5, time_ns=2)]
    for ids in ("ab", "bc"):
        found = claims.match(pods, GPU_MEMORY, 5)
        assert found is not None
        claims.take(found, frozenset(ids))
    assert claims.unsettled() == ((GPU_MEMORY, frozenset("bc")),)


def test_peers_ask_for_the_same() -> None:
    assert are_peers(pod("one", 5, 7), pod("two", 5, 7))
    assert not are_peers(pod("one", 5, 7), pod("two", 7, 5))
    assert not are_peers(pod("one", 1), pod("two", 1, resource=GPU_NUMBER))


PODS = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=7
)


@settings(max_examples=400, deadline=None)
@given(PODS, st.randoms(use_true_random=False))
def test_whatever_the_order_who_starts_has_the_claim_that_it_says_and_nobody_else_has_it(
    made: list[tuple[int, int, bool]], chance: Random
) -> None:
    """As the allocator does it: take at each request, check and exchange before each start."""
    pods = {
        f"p{at}": pod(f"p{at}", *([units, units] if two else [units]), indexes=(at,), time_ns=time)
        for at, (units, time, two) in enumerate(made)
    }
    claims = Claims()
    order = list(pods)
    chance.shuffle(order)
    given_to = {name: _admit(claims, pods, name) for name in order}
    chance.shuffle(order)
    started = {name: index for name in order if (index := _start(claims, pods, name, given_to))}
    assert started == {name: pods[name].indexes for name in started}
    assert sorted(each.indexes for each in pods.values()) == [(at,) for at in range(len(pods))]


Answers = list[tuple[frozenset[str], tuple[int, ...]]]
"""The devices and GPUs of each container."""


def _admit(claims: Claims, pods: dict[str, GpuPod], name: str) -> Answers:
    """What a pod is given; nothing where it is turned away."""
    answers: Answers = []
    for at, ask in enumerate(pods[name].asks):
        found = claims.match(tuple(pods.values()), ask.resource, ask.count)
        if found is None:
            for ids, _ in answers:
                claims.release((GPU_MEMORY, ids))
            return []
        ids = frozenset({f"{name}.{at}"})
        claims.take(found, ids)
        answers.append((ids, found.pod.indexes))
    return answers


def _start(
    claims: Claims, pods: dict[str, GpuPod], name: str, given_to: dict[str, Answers]
) -> tuple[int, ...] | None:
    """With which GPU a pod starts; None: it does not."""
    answers = given_to[name]
    known = [claims.given((GPU_MEMORY, ids)) for ids, _ in answers]
    meant = {each.uid for each in known if each is not None}
    if len(meant) != 1:
        return None
    (uid,) = meant
    if uid != name:
        one, other = pods[name], pods[uid]
        if not are_peers(one, other):
            return None
        claims.exchange(one, other)
        pods[name] = replace(one, indexes=other.indexes)
        pods[uid] = replace(other, indexes=one.indexes)
    (index,) = {index for _, index in answers}
    return index
