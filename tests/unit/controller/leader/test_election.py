from __future__ import annotations

import pytest

from controller.leader.election import Election, Terms
from controller.leader.lease import NOBODY, Claim, Lease

TERMS = Terms(3)


def other(version: str = "7", *, duration_s: float = 3, transitions: int = 2) -> Lease:
    return Lease("other_1", duration_s, transitions, version)


def leader(asked: float = 10.0) -> Election:
    """One that has just made the lease."""
    election = Election("me_1", TERMS)
    election.saw(None, asked)
    assert election.claim(asked) is not None
    election.wrote(Lease("me_1", 3, 0, "1"), asked)
    return election


def test_one_that_has_seen_nothing_looks_before_it_claims() -> None:
    election = Election("me_1", TERMS)
    assert election.must_look()
    assert not election.leads(0.0)
    assert election.holder() == NOBODY


def test_a_lease_that_is_not_there_is_made() -> None:
    election = Election("me_1", TERMS)
    election.saw(None, 10.0)
    assert election.claim(10.0) == Claim("me_1", 3, 0, anew=True, over=None)


def test_the_holder_leads_for_two_thirds_of_it_from_when_it_asked() -> None:
    election = leader(asked=10.0)
    assert election.leads(10.0)
    assert election.leads(11.99)
    assert not election.leads(12.0)


def test_a_renewal_needs_no_look_and_counts_no_transition() -> None:
    election = leader()
    assert not election.must_look()
    claim = election.claim(10.75)
    assert claim is not None
    assert (claim.holder, claim.transitions, claim.anew) == ("me_1", 0, False)
    election.wrote(Lease("me_1", 3, 0, "2"), 10.75)
    assert election.leads(12.7)


def test_anothers_lease_is_waited_for_from_when_it_was_seen() -> None:
    election = Election("me_1", TERMS)
    election.saw(other(), 100.0)
    assert election.claim(100.0) is None
    election.saw(other(), 103.0)
    assert election.claim(103.0) is None
    election.saw(other(), 103.1)
    assert election.claim(103.1) == Claim("me_1", 3, 3, anew=True, over=other())


def test_every_change_of_it_begins_the_wait_again() -> None:
    election = Election("me_1", TERMS)
    election.saw(other("7"), 100.0)
    election.saw(other("8"), 102.9)
    assert election.claim(105.8) is None
    assert election.claim(106.0) is not None


def test_it_is_waited_for_as_long_as_its_holder_was_promised() -> None:
    election = Election("me_1", TERMS)
    election.saw(other(duration_s=15), 100.0)
    assert election.claim(114.9) is None
    assert election.claim(115.1) is not None


def test_a_lease_without_a_duration_lasts_as_long_as_ours() -> None:
    election = Election("me_1", TERMS)
    election.saw(other(duration_s=0), 100.0)
    assert election.claim(102.9) is None
    assert election.claim(103.1) is not None


def test_one_that_was_given_back_is_taken_at_once() -> None:
    election = Election("me_1", TERMS)
    election.saw(Lease(NOBODY, 1, 4, "9"), 100.0)
    claim = election.claim(100.0)
    assert claim is not None
    assert (claim.holder, claim.transitions, claim.anew) == ("me_1", 5, True)


def test_who_sees_that_another_has_taken_it_leads_no_more() -> None:
    election = leader(asked=10.0)
    election.doubt()
    assert election.must_look()
    election.saw(other(), 10.5)
    assert not election.leads(10.5)
    assert election.holder() == "other_1"


def test_a_write_of_unknown_fate_ends_nothing_before_its_time() -> None:
    election = leader(asked=10.0)
    election.doubt()
    assert election.leads(11.9)
    election.saw(Lease("me_1", 3, 0, "2"), 11.0)
    assert election.leads(11.9)
    assert not election.leads(12.0), "what was read is no promise of the server's"


def test_a_deleted_lease_ends_the_leaders_time_and_is_made_again() -> None:
    election = leader(asked=10.0)
    election.doubt()
    election.saw(None, 10.5)
    assert not election.leads(10.5)
    assert election.claim(10.5) == Claim("me_1", 3, 0, anew=True, over=None)


def test_a_deleted_lease_of_another_is_waited_for_all_the_same() -> None:
    election = Election("me_1", TERMS)
    election.saw(other(), 100.0)
    election.saw(None, 101.0)
    assert election.claim(101.0) is None
    assert election.must_look()
    assert election.claim(103.1) == Claim("me_1", 3, 0, anew=True, over=None)


def test_who_resigns_leads_no_more_and_gives_it_back() -> None:
    election = leader(asked=10.0)
    claim = election.resign()
    assert not election.leads(10.0)
    assert claim is not None
    assert (claim.holder, claim.duration_s, claim.anew) == (NOBODY, 1, False)
    assert claim.over == Lease("me_1", 3, 0, "1")


@pytest.mark.parametrize("seen", [None, other()])
def test_who_does_not_hold_it_has_nothing_to_give_back(seen: Lease | None) -> None:
    election = Election("me_1", TERMS)
    assert election.resign() is None
    election.saw(seen, 10.0)
    assert election.resign() is None


def test_a_standby_takes_over_within_5_s_of_the_last_renewal() -> None:
    """The worst case: it looks just before the renewal, and again just before the end."""
    look_s, request_s = TERMS.look_every_s, 0.1
    assert look_s + request_s + TERMS.duration_s + look_s + 2 * request_s < 5
    assert TERMS.renew_every_s * 2 < TERMS.hold_s, "one renewal may fail"
