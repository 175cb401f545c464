"""Whatever is seen, in whatever order: no GPU is fit without the evidence its faults ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from nodeagent.health.causes import CauseKind, FaultClass
from nodeagent.health.condition import Fault, Now
from nodeagent.health.evidence import dwell_s
from nodeagent.health.machine import LONGEST_GAP_S, RESET_ACTIONS, step, time_matters
from nodeagent.health.observations import Presence, Reading, TimePassed, XidSeen
from nodeagent.health.policy import overridden
from tests.unit.nodeagent.health.lives import BUILT_IN, GEFORCE, LOST, POLL_S, WELL, Life

XIDS = (13, 43, 48, 54, 79, 119, 142, 145, 154, 999)
AWAY = {Presence.LOST, Presence.MISSING, Presence.RESET_REQUIRED, Presence.DRIVER_NOT_LOADED}

readings = st.builds(
    Reading,
    st.sampled_from(Presence),
    st.sampled_from([None, 0, 0, 1, 2, 3, 9]),
    st.sampled_from([None, False, False, True]),
    st.booleans(),
    st.sampled_from([None, 0, 0, 1, 2]),
)
good = st.sampled_from([WELL, WELL, GEFORCE])


def act(name: str, *values: st.SearchStrategy[object]) -> st.SearchStrategy[Callable[[Life], None]]:
    return st.tuples(*values).map(lambda given: lambda life: getattr(life, name)(*given))


grave = st.sampled_from([48, 79, 119, 999])
happenings = st.one_of(
    act("xid", grave),
    act("xid", st.sampled_from(XIDS)),
    st.tuples(grave, st.sampled_from([0.0, 3.0, 30.0, 200.0])).map(
        lambda given: lambda life: life.xid(given[0], ago_s=given[1], source="kernel log")
    ),
    act("read", readings),
    act("read", st.sampled_from([LOST, WELL, replace(WELL, recovery_action=1)])),
    act("read_for", st.sampled_from([10.0, 70.0, 245.0]), good),
    act("read_for", st.sampled_from([10.0, 70.0, 245.0]), good),
    act("wait", st.sampled_from([1.0, 61.0, 300.0])),
    act("reboot"),
)
lives = st.lists(happenings, max_size=15)


BRIEF = overridden(BUILT_IN, "[recovery]\nlongest_dwell_s = 240\n")
"""So that a test of a whole recovery is a few dozen readings."""


class Watched(Life):
    """Checks each fault that ends, by what was told alone."""

    def tell(self, seen: object) -> None:
        before = self.state
        super().tell(seen)  # type: ignore[arg-type]
        for fault in before.faults:
            if fault.cause not in {left.cause for left in self.state.faults}:
                self.check(fault, replace(self.state, relapses=before.relapses))

    def check(self, fault: Fault, state: object) -> None:
        fault_class = self.policy.rule(fault.cause).fault_class
        assert fault_class not in {FaultClass.UNTIL_PERSON, FaultClass.REPLACE_BOARD}
        boot = self.now.boot_id
        rebooted = fault.boot_id != boot
        after = [
            (now.boot_s, seen)
            for now, seen in self.told
            if now.boot_id == boot
            and isinstance(seen, Reading)
            and (rebooted or now.boot_s > fault.last_s)
        ]
        self.check_clean(after, dwell_s(state, self.policy))  # type: ignore[arg-type]
        if fault_class is FaultClass.UNTIL_REBOOT:
            assert rebooted
        if fault_class is FaultClass.UNTIL_RESET:
            assert rebooted or self.shows_reset(fault)

    @staticmethod
    def check_clean(after: list[tuple[float, Reading]], dwell: float) -> None:
        """The last readings are clean, enough, without a gap, and for long enough."""
        run: list[float] = []
        for at_s, reading in reversed(after):
            clean = (
                reading.presence is Presence.PRESENT
                and not reading.recovery_action
                and not reading.remap_failure
            )
            if not clean or (run and run[-1] - at_s > LONGEST_GAP_S):
                break
            run.append(at_s)
        assert len(run) >= BUILT_IN.recovery.clean_readings
        assert run[0] - run[-1] >= dwell

    def shows_reset(self, fault: Fault) -> bool:
        """After the fault the GPU was read well, and before that reading it was away or asking."""
        away, asks, count = False, False, 0
        for now, seen in self.told:
            if now.boot_id != self.now.boot_id or not isinstance(seen, Reading):
                continue
            if seen.presence is not Presence.PRESENT:
                away = away or seen.presence in AWAY
                continue
            told, errors = seen.recovery_action, seen.uncorrectable_errors
            back = away or (asks and told is not None) or (errors is not None and errors < count)
            if back and told not in RESET_ACTIONS and now.boot_s > fault.last_s:
                return True
            away, asks = False, asks if told is None else told in RESET_ACTIONS
            count = count if errors is None else errors
        return False


@given(lives)
@settings(max_examples=200)
def test_no_fault_ends_without_its_evidence(life: list[Callable[[Life], None]]) -> None:
    watched = Watched(BRIEF)
    for happens in life:
        happens(watched)


@given(lives)
def test_what_only_a_person_or_a_new_board_ends_stays(life: list[Callable[[Life], None]]) -> None:
    one = Life(BRIEF)
    one.xid(142)
    one.read(replace(WELL, remap_failure=True))
    for happens in life:
        happens(one)
    assert {"XID 142", "row-remap-failure"} <= set(one.causes)


@given(lives)
def test_nothing_that_is_seen_ends_an_exclusion(life: list[Callable[[Life], None]]) -> None:
    one = Life(BRIEF)
    one.exclude()
    for happens in life:
        happens(one)
    assert not one.fit


@given(lives)
def test_a_well_gpu_comes_back_from_all_that_a_reboot_can_end(
    life: list[Callable[[Life], None]],
) -> None:
    one = Life(BRIEF)
    for happens in life:
        happens(one)
    one.reboot()
    one.recover()
    stuck = {FaultClass.UNTIL_PERSON, FaultClass.REPLACE_BOARD}
    assert all(BUILT_IN.rule(fault.cause).fault_class in stuck for fault in one.state.faults)


@given(lives)
def test_telling_everything_twice_changes_nothing(life: list[Callable[[Life], None]]) -> None:
    once = Life(BRIEF)
    for happens in life:
        happens(once)
    state = Life(BRIEF).state
    for now, seen in once.told:
        state = step(state, seen, now, BRIEF)
        if isinstance(seen, XidSeen):
            assert step(state, seen, now, BRIEF) == state
    assert state == once.state


@given(st.permutations([(xid, ago) for xid, ago in zip(XIDS * 2, range(20), strict=True)]))
def test_the_order_in_which_xids_are_told_does_not_matter(told: list[tuple[int, int]]) -> None:
    def after(xids: list[tuple[int, int]]) -> Life:
        life = Life(BRIEF)
        life.read()
        life.wait(100)
        for xid, ago in xids:
            life.xid(xid, ago_s=ago)
        life.read()
        return life

    assert after(told).state == after(sorted(told)).state


@given(lives, st.lists(st.floats(-1e9, 1e9), min_size=15, max_size=15))
def test_a_wall_clock_that_jumps_changes_nothing_but_dates(
    life: list[Callable[[Life], None]], jumps: list[float]
) -> None:
    steady, jumping = Life(BRIEF), Life(BRIEF)
    for happens, jump in zip(life, jumps, strict=False):
        happens(steady)
        jumping.wall += jump
        happens(jumping)
    assert _undated(steady) == _undated(jumping)


def _undated(life: Life) -> tuple[object, ...]:
    faults = tuple(replace(fault, since_wall=0.0) for fault in life.state.faults)
    return (replace(life.state, faults=faults),)


@given(lives, st.floats(0, 1000))
def test_a_boot_clock_that_runs_back_gives_no_evidence(
    life: list[Callable[[Life], None]], back_s: float
) -> None:
    one = Life(BRIEF)
    one.wait(1)
    for happens in life:
        happens(one)
    earlier = Now(one.now.boot_id, one.boot_s - back_s, one.wall)
    after = step(one.state, TimePassed(), earlier, BRIEF)
    assert after.clock_s == one.state.clock_s
    assert after.faults == one.state.faults


def test_the_harness_has_every_kind_of_fault() -> None:
    life = Life(BRIEF)
    life.xid(79)
    life.read(LOST)
    life.read(replace(WELL, recovery_action=1))
    kinds = {fault.cause.kind for fault in life.state.faults}
    assert kinds == {kind.value for kind in CauseKind}
    assert POLL_S < LONGEST_GAP_S


@given(lives, st.sampled_from([None, 40.0, 1e6]), st.floats(0, 1e7))
def test_time_changes_nothing_where_it_is_said_not_to_matter(
    life: list[Callable[[Life], None]], excluded_for: float | None, later_s: float
) -> None:
    one = Life(BRIEF)
    if excluded_for is not None:
        one.exclude(until_wall=one.wall + excluded_for)
    for happens in life:
        happens(one)
    later = Now(one.now.boot_id, one.boot_s + later_s, one.wall + later_s)
    after = step(one.state, TimePassed(), later, BRIEF)
    assert time_matters(one.state) or replace(after, clock_s=one.state.clock_s) == one.state
