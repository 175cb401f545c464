"""What makes a GPU unfit, and what makes it fit again, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodeagent.health.causes import xid_cause
from nodeagent.health.machine import LONGEST_GAP_S, replaced_board
from nodeagent.health.observations import Presence, Reading, XidSeen
from nodeagent.health.policy import overridden
from tests.unit.nodeagent.health.lives import BUILT_IN, DWELL_S, GEFORCE, LOST, WELL, Life


def test_a_gpu_never_heard_of_is_fit() -> None:
    assert Life().fit


@pytest.mark.parametrize("xid", [13, 31, 43, 45, 63, 94, 154])
def test_an_applications_fault_or_a_mere_message_leaves_it_fit(xid: int) -> None:
    life = Life()
    life.xid(xid)
    assert life.fit


@pytest.mark.parametrize("xid", [48, 54, 62, 64, 74, 79, 95, 119, 142, 145, 151, 999])
def test_anything_else_makes_it_unfit_at_once(xid: int) -> None:
    life = Life()
    life.xid(xid)
    assert life.causes == [f"XID {xid}"]


def test_an_unknown_xid_ends_when_it_has_stayed_clean() -> None:
    life = Life()
    life.xid(999)
    life.read_for(DWELL_S)
    assert not life.fit
    life.read()
    assert life.fit


def test_a_bad_reading_in_between_begins_the_dwell_anew() -> None:
    life = Life()
    life.xid(999)
    life.read_for(DWELL_S - 10)
    life.read(Reading(Presence.UNREADABLE))
    life.read_for(DWELL_S)
    assert not life.fit
    life.read()
    assert life.fit


def test_time_alone_is_no_evidence() -> None:
    life = Life()
    life.xid(999)
    life.read()
    life.wait(10 * DWELL_S)
    assert not life.fit


def test_a_gap_between_readings_is_not_counted_as_clean() -> None:
    life = Life()
    life.xid(999)
    life.read_for(DWELL_S - 10)
    life.wait(LONGEST_GAP_S + 1)
    life.read()
    assert not life.fit


def test_off_the_bus_ends_with_a_reboot_only() -> None:
    life = Life()
    life.xid(79)
    life.read(LOST)
    life.recover()
    assert life.causes == ["XID 79"]
    life.reboot()
    assert not life.fit, "a new boot alone is not a probe"
    life.read_for(DWELL_S + 5)
    assert life.fit


def test_off_the_bus_again_after_the_reboot_is_unfit_still() -> None:
    life = Life()
    life.xid(79)
    life.reboot()
    life.xid(79)
    life.recover()
    assert life.causes == ["XID 79"]


def test_until_reset_is_not_ended_by_being_well() -> None:
    life = Life()
    life.xid(119)
    life.recover()
    assert life.causes == ["XID 119"]


def test_a_reset_is_seen_by_the_gpu_being_away_and_back() -> None:
    life = Life()
    life.xid(119)
    life.read(Reading(Presence.MISSING))
    life.recover(GEFORCE)
    assert life.fit


def test_a_reset_is_seen_by_the_recovery_action_being_asked_for_and_gone() -> None:
    life = Life()
    life.xid(119)
    life.read(replace(WELL, recovery_action=1))
    life.recover()
    assert life.fit


def test_a_reset_is_seen_by_the_count_of_errors_beginning_anew() -> None:
    life = Life()
    life.read(replace(WELL, uncorrectable_errors=1))
    life.recover(replace(WELL, uncorrectable_errors=1))
    life.xid(48)
    life.recover(replace(WELL, uncorrectable_errors=1))
    assert life.causes == ["XID 48"]
    life.recover(replace(WELL, uncorrectable_errors=0))
    assert life.fit


def test_a_reset_before_the_fault_is_no_evidence() -> None:
    life = Life()
    life.read(LOST)
    life.read()
    life.xid(119)
    life.recover()
    assert life.causes == ["XID 119"]


def test_a_driver_that_hung_and_answers_again_has_not_reset_anything() -> None:
    life = Life()
    life.xid(119)
    life.read(Reading(Presence.DRIVER_HANGS))
    life.recover()
    assert life.causes == ["XID 119"]


def test_a_driver_loaded_again_has() -> None:
    life = Life()
    life.xid(119)
    life.read(Reading(Presence.DRIVER_NOT_LOADED))
    life.recover()
    assert life.fit


@pytest.mark.parametrize(
    "presence",
    [
        Presence.LOST,
        Presence.MISSING,
        Presence.DRIVER_HANGS,
        Presence.DRIVER_UNAVAILABLE,
        Presence.DRIVER_NOT_LOADED,
    ],
)
def test_one_that_cannot_be_reached_is_unfit_until_it_has_been_back_for_a_while(
    presence: Presence,
) -> None:
    life = Life()
    life.read(Reading(presence))
    assert not life.fit
    life.read_for(DWELL_S)
    assert not life.fit
    life.read()
    assert life.fit


def test_errors_now_and_then_are_no_fault_and_errors_only_are() -> None:
    life = Life()
    for _ in range(10):
        life.read(Reading(Presence.UNREADABLE))
        life.read(Reading(Presence.UNREADABLE))
        assert life.fit
        life.read()
    for _ in range(3):
        life.read(Reading(Presence.UNREADABLE))
    assert life.causes == ["unreadable"]


def test_a_remap_that_is_pending_is_fit() -> None:
    life = Life()
    life.read(replace(WELL, remap_pending=True))
    assert life.fit
    assert life.state.remap_pending


def test_a_remap_that_failed_ends_with_another_board() -> None:
    life = Life()
    life.read(replace(WELL, remap_failure=True))
    life.recover()
    life.reboot()
    life.recover()
    assert life.causes == ["row-remap-failure"]
    life.state = replaced_board(life.state)
    assert life.fit


def test_an_exclusion_is_of_the_place_and_outlives_the_board() -> None:
    life = Life()
    life.exclude()
    life.state = replaced_board(life.state)
    assert not life.fit


def test_what_only_a_person_ends_is_not_ended_by_anything_else() -> None:
    life = Life()
    life.xid(142)
    life.read(LOST)
    life.recover()
    life.reboot()
    life.recover()
    assert life.causes == ["XID 142"]
    life.restore()
    assert life.fit


@pytest.mark.parametrize(
    ("action", "ended"), [(1, True), (2, False), (3, True), (4, True), (7, False)]
)
def test_a_recovery_action_holds_as_long_as_it_is_asked_for(action: int, *, ended: bool) -> None:
    life = Life()
    life.read(replace(WELL, recovery_action=action))
    assert life.causes == [f"recovery action {action}"]
    life.recover(replace(WELL, recovery_action=action))
    assert not life.fit
    life.recover()
    assert life.fit is ended
    life.reboot()
    life.recover()
    assert life.fit


def test_a_driver_that_cannot_tell_its_recovery_action_does_not_say_that_there_is_none() -> None:
    life = Life()
    life.read(replace(WELL, recovery_action=1))
    life.recover(GEFORCE)
    assert not life.fit


def test_uncorrectable_errors_count_when_they_rise() -> None:
    life = Life()
    life.read(replace(WELL, uncorrectable_errors=2))
    assert life.causes == ["uncorrectable-ecc"]
    life.recover(replace(WELL, uncorrectable_errors=2))
    assert life.fit
    life.read(replace(WELL, uncorrectable_errors=3))
    assert not life.fit


def test_flapping_lengthens_the_dwell_and_long_fitness_forgets_it() -> None:
    life = Life()
    for relapse in range(1, 5):
        life.read(LOST)
        dwell = DWELL_S * 2 ** (relapse - 1)
        life.read_for(dwell)
        assert not life.fit, relapse
        life.read()
        assert life.fit, relapse
    life.wait(BUILT_IN.recovery.steady_s)
    life.read(LOST)
    life.read_for(DWELL_S + 5)
    assert life.fit


def test_one_fault_told_often_is_one_relapse() -> None:
    life = Life()
    for _ in range(20):
        life.xid(999)
        life.read(LOST)
    assert life.state.relapses == 1


def test_the_same_xid_from_another_source_after_it_was_settled_is_no_news() -> None:
    life = Life()
    life.xid(999)
    happened = life.boot_s
    life.recover()
    life.xid(999, ago_s=life.boot_s - happened, source="kernel log")
    assert life.fit
    life.xid(999)
    assert not life.fit


def test_another_xid_of_that_time_that_was_never_told_is_news() -> None:
    life = Life()
    life.xid(999)
    happened = life.boot_s
    life.recover()
    life.xid(79, ago_s=life.boot_s - happened)
    assert life.causes == ["XID 79"]


def test_an_exclusion_holds_whatever_is_read_and_ends_with_a_word() -> None:
    life = Life()
    life.exclude()
    life.recover()
    life.reboot()
    life.recover()
    assert not life.fit
    life.restore()
    assert life.fit


def test_an_exclusion_until_a_time_ends_then() -> None:
    life = Life()
    life.exclude(until_wall=life.wall + 100)
    life.wait(99)
    assert not life.fit
    life.wait(1)
    assert life.fit


def test_an_operator_can_live_with_a_remap_that_failed_and_not_with_what_comes_then() -> None:
    life = Life()
    failed = replace(WELL, remap_failure=True)
    life.read(failed)
    life.restore()
    life.recover(failed)
    assert life.fit
    life.xid(79)
    assert life.causes == ["XID 79"]


def test_what_an_operator_accepts_until_a_time_counts_again_then() -> None:
    life = Life()
    failed = replace(WELL, remap_failure=True)
    life.read(failed)
    life.restore(until_wall=life.wall + 50)
    assert life.fit
    life.read_for(60, failed)
    assert life.causes == ["row-remap-failure"]


def test_what_was_accepted_and_is_gone_is_a_fault_when_it_comes_again() -> None:
    life = Life()
    life.read(replace(WELL, recovery_action=1))
    life.restore()
    life.read()
    life.read(replace(WELL, recovery_action=1))
    assert life.causes == ["recovery action 1"]


def test_a_word_does_not_bring_a_lost_gpu_back() -> None:
    life = Life()
    life.read(LOST)
    life.restore()
    assert life.causes == ["lost"]
    since = life.state.faults[0].since_wall
    assert since == int(since) > life.wall, "whoever gave the word can tell that it was heeded"
    life.read(LOST)
    assert life.causes == ["lost"]
    life.recover()
    assert life.fit


def test_a_word_ends_what_a_gpu_that_is_back_only_has_to_wait_for() -> None:
    life = Life()
    life.read(LOST)
    life.read()
    assert not life.fit
    life.restore()
    assert life.fit


def test_a_word_does_not_make_a_driver_answer() -> None:
    life = Life()
    life.read(replace(LOST, presence=Presence.DRIVER_HANGS))
    life.restore()
    assert life.causes == ["driver-hang"]


def test_a_changed_policy_judges_what_is_known_anew() -> None:
    life = Life()
    life.xid(79)
    life.policy = overridden(BUILT_IN, "[xid]\n79 = { class = 'ignored' }\n")
    life.wait(1)
    assert life.fit


def test_all_faults_must_end() -> None:
    life = Life()
    life.xid(79)
    life.xid(142)
    life.reboot()
    life.recover()
    assert [fault.cause for fault in life.state.faults] == [xid_cause(142)]


def test_a_fault_keeps_the_words_in_which_it_was_first_told() -> None:
    life = Life()
    life.tell(XidSeen(79, life.boot_s, "nvml"))
    life.wait(1)
    life.tell(XidSeen(79, life.boot_s, "kernel log", "it has fallen off"))
    life.wait(1)
    life.tell(XidSeen(79, life.boot_s, "kernel log", "it has fallen off again"))
    (fault,) = life.state.faults
    assert (fault.source, fault.detail) == ("nvml", "it has fallen off")
    assert fault.last_s == life.boot_s
    life.reboot()
    life.tell(XidSeen(79, life.boot_s, "kernel log", "once more"))
    (fault,) = life.state.faults
    assert (fault.source, fault.detail) == ("kernel log", "once more")
