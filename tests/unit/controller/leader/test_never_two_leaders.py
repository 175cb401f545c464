"""Whatever is delayed, lost or crashes, and while clocks run within a fifth of the right speed."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.leader.api import ClaimRefusedError
from controller.leader.election import Election, Terms
from controller.leader.lease import Claim, Lease
from tests.unit.controller.leader.lease_server import LeaseServer

MOST_DRIFT = 0.19
CANDIDATES = 3
STEPS_OF_AN_ATTEMPT = 4
"""Read, be answered and write, be heard, be answered."""


class Act(enum.Enum):
    """What happens next to a candidate."""

    ATTEMPT = "it asks and takes the answers, and all goes well"
    GO_ON = "its next step: ask, or take the answer"
    LOSE_REQUEST = "what it has sent never arrives"
    LOSE_ANSWER = "what it has sent is done, and it does not learn that"
    GIVE_UP = "it waits no longer for what is on its way, which arrives later"
    CRASH = "it is replaced by another process on the same machine"
    RESIGN = "it stops in good order, and is replaced"
    ARRIVE = "something that was given up on arrives"


@dataclass
class Write:
    claim: Claim
    asked: float


@dataclass
class Candidate:
    """One process on a machine whose clock runs at its own speed from its own beginning."""

    machine: int
    rate: float
    terms: Terms
    incarnation: int = 0
    read: bool = False
    reading: Lease | None = None
    write: Write | None = None
    answer: Lease | ClaimRefusedError | None = None
    election: Election = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.incarnation += 1
        self.election = Election(f"machine-{self.machine}_{self.incarnation}", self.terms)
        self.read, self.write, self.answer = False, None, None

    def clock(self, now: float) -> float:
        return 1000.0 * self.machine + self.rate * now


class World:
    def __init__(self, rates: list[float], terms: list[int]) -> None:
        self.now = 0.0
        self.server = LeaseServer()
        self.candidates = [
            Candidate(machine, rate, Terms(duration_s))
            for machine, (rate, duration_s) in enumerate(zip(rates, terms, strict=True))
        ]
        self.on_their_way: list[Write] = []

    def leaders(self) -> list[str]:
        return [
            each.election.identity
            for each in self.candidates
            if each.election.leads(each.clock(self.now))
        ]

    def act(self, candidate: Candidate, act: Act) -> None:
        if act is Act.ATTEMPT:
            for _ in range(STEPS_OF_AN_ATTEMPT):
                self.go_on(candidate)
        elif act is Act.GO_ON:
            self.go_on(candidate)
        elif act is Act.CRASH:
            candidate.restart()
        elif act is Act.RESIGN:
            if (claim := candidate.election.resign()) is not None:
                self.on_their_way.append(Write(claim, 0.0))
            candidate.restart()
        elif act is Act.ARRIVE:
            if self.on_their_way:
                self.arrive(self.on_their_way.pop(0))
        elif candidate.write is not None:
            self.go_wrong(candidate, candidate.write, act)

    def go_wrong(self, candidate: Candidate, write: Write, act: Act) -> None:
        if act is Act.LOSE_ANSWER and candidate.answer is None:
            self.arrive(write)
        elif act is Act.GIVE_UP and candidate.answer is None:
            self.on_their_way.append(write)
        candidate.write, candidate.answer = None, None
        candidate.election.doubt()

    def go_on(self, candidate: Candidate) -> None:
        election, clock = candidate.election, candidate.clock(self.now)
        if candidate.write is not None and candidate.answer is None:
            candidate.answer = self.arrive(candidate.write)
        elif candidate.write is not None:
            self.take_answer(candidate, candidate.write)
        elif election.must_look() and not candidate.read:
            candidate.reading, candidate.read = self.server.lease, True
        else:
            if candidate.read:
                election.saw(candidate.reading, clock)
                candidate.read = False
            claim = election.claim(clock)
            candidate.write = None if claim is None else Write(claim, clock)

    def arrive(self, write: Write) -> Lease | ClaimRefusedError:
        try:
            return self.server.write(write.claim)
        except ClaimRefusedError as refusal:
            return refusal

    def take_answer(self, candidate: Candidate, write: Write) -> None:
        if isinstance(candidate.answer, Lease):
            candidate.election.wrote(candidate.answer, write.asked)
        else:
            candidate.election.doubt()
        candidate.write, candidate.answer = None, None


RATES = st.sampled_from([1 - MOST_DRIFT, 1.0, 1 + MOST_DRIFT])
DURATIONS = st.sampled_from([3, 3, 3, 2, 15])
STEPS = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 1, 2]),
        # Mostly good luck, else nobody ever leads.
        st.sampled_from([*[Act.ATTEMPT] * 12, *[Act.GO_ON] * 4, *Act]),
        st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.5, 2.1, 2.6]),
    ),
    min_size=10,
    max_size=60,
)


@given(
    rates=st.lists(RATES, min_size=CANDIDATES, max_size=CANDIDATES),
    terms=st.lists(DURATIONS, min_size=CANDIDATES, max_size=CANDIDATES),
    steps=STEPS,
)
@settings(max_examples=500)
def test_never_two_leaders(
    rates: list[float], terms: list[int], steps: list[tuple[int, Act, float]]
) -> None:
    world = World(rates, terms)
    for machine, act, pause_s in steps:
        world.now += pause_s
        world.act(world.candidates[machine], act)
        leaders = world.leaders()
        assert len(leaders) <= 1, f"{leaders} at {world.now:g} s"


def test_this_test_would_notice_two() -> None:
    """With clocks that are further apart than the rules allow there can be two."""
    world = World([0.5, 1.5, 1.0], [3, 3, 3])
    slow, fast, _ = world.candidates
    world.act(slow, Act.ATTEMPT)
    assert world.leaders() == [slow.election.identity]
    world.act(fast, Act.ATTEMPT)
    world.now = 2.2
    world.act(fast, Act.ATTEMPT)
    assert len(world.leaders()) == 2


@given(crashes=st.lists(st.integers(0, CANDIDATES - 1), max_size=5))
def test_there_is_a_leader_again_soon(crashes: list[int]) -> None:
    world = World([1.0] * CANDIDATES, [3] * CANDIDATES)
    for crash in [*crashes, None]:
        if crash is not None:
            world.act(world.candidates[crash], Act.CRASH)
        without_s = 0.0
        while not world.leaders():
            for candidate in world.candidates:
                world.act(candidate, Act.ATTEMPT)
            world.now += 0.1
            without_s += 0.1
            assert without_s < 5
        for _ in range(20):
            for candidate in world.candidates:
                world.act(candidate, Act.ATTEMPT)
            world.now += 0.1
            assert len(world.leaders()) == 1, "while all is well the leader stays"
