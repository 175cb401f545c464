"""The pace of evictions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller.eviction import ledger as module
from controller.eviction.decide import EvictionPolicy
from controller.eviction.ledger import Ledger, Workload
from gpupods.identity import PodUid

WEB: Workload = ("team", "ReplicaSet", "web")
DB: Workload = ("team", "StatefulSet", "db")


def ledger(per_minute: int = 100, pause_s: float = 60.0) -> Ledger:
    return Ledger(EvictionPolicy(600, excluded=False, per_minute=per_minute, pause_s=pause_s))


def gone(_: PodUid) -> bool:
    return False


def there(_: PodUid) -> bool:
    return True


def test_one_of_a_workload_at_a_time() -> None:
    book = ledger()
    book.evicted(PodUid("web-0"), WEB, 0.0)
    assert "another pod of its workload" in book.why_wait(PodUid("web-1"), WEB, 59.0, gone)
    assert book.why_wait(PodUid("db-0"), DB, 0.0, gone) == ""
    assert book.why_wait(PodUid("web-1"), WEB, 60.0, gone) == ""


def test_one_that_has_not_ended_yet_is_waited_for() -> None:
    book = ledger()
    book.evicted(PodUid("web-0"), WEB, 0.0)
    assert "has not ended yet" in book.why_wait(PodUid("web-1"), WEB, 3600.0, there)


def test_pods_without_a_workload_do_not_wait_for_each_other() -> None:
    book = ledger()
    book.evicted(PodUid("alone-0"), None, 0.0)
    assert book.why_wait(PodUid("alone-1"), None, 0.0, there) == ""


def test_a_refusal_is_followed_by_pauses_that_double() -> None:
    book, uid = ledger(), PodUid("web-0")
    pauses = [book.refused(uid, 0.0) for _ in range(40)]
    assert pauses[:4] == [15.0, 30.0, 60.0, 120.0]
    assert pauses[-1] == 600.0
    assert "refused" in book.why_wait(uid, WEB, 599.0, gone)
    assert book.why_wait(uid, WEB, 600.0, gone) == ""
    assert book.why_wait(PodUid("web-1"), WEB, 0.0, gone) == ""


def test_a_server_that_asks_for_more_time_gets_it() -> None:
    assert ledger().refused(PodUid("web-0"), 0.0, 50.0) == 50.0


def test_an_eviction_clears_what_was_refused() -> None:
    book, uid = ledger(), PodUid("web-0")
    book.refused(uid, 0.0)
    book.evicted(uid, WEB, 20.0)
    assert book.refused(uid, 30.0) == 15.0


def test_an_eviction_of_which_nobody_knows_counts_as_one() -> None:
    book = ledger(per_minute=1)
    book.unsure(PodUid("web-0"), WEB, 0.0)
    assert "in the last minute" in book.why_wait(PodUid("db-0"), DB, 59.0, there)
    assert book.why_wait(PodUid("db-0"), DB, 60.0, there) == ""


def test_its_end_is_waited_for_but_not_for_ever() -> None:
    """It may have stayed, and be well by now."""
    book = ledger()
    book.unsure(PodUid("web-0"), WEB, 0.0)
    assert "another pod of its workload" in book.why_wait(PodUid("web-1"), WEB, 599.0, there)
    assert book.why_wait(PodUid("web-1"), WEB, 599.0, gone) == ""
    assert book.why_wait(PodUid("web-1"), WEB, 600.0, there) == ""
    assert book.why_wait(PodUid("web-0"), WEB, 14.0, there) != ""
    assert book.why_wait(PodUid("web-0"), WEB, 60.0, there) == "", "itself it does not wait for"


def test_it_does_not_grow_for_ever() -> None:
    book = ledger()
    for number in range(module.MOST_REMEMBERED + 50):
        book.refused(PodUid(str(number)), 0.0)
    assert book.why_wait(PodUid("0"), None, 0.0, gone) == ""
    assert book.why_wait(PodUid(str(module.MOST_REMEMBERED)), None, 0.0, gone) != ""


@given(
    per_minute=st.integers(1, 5),
    pauses=st.lists(st.floats(0.0, 40.0), max_size=60),
)
def test_no_minute_has_more_evictions_than_are_allowed(
    per_minute: int, pauses: list[float]
) -> None:
    book = ledger(per_minute)
    now, times = 0.0, []
    for number, pause in enumerate(pauses):
        now += pause
        uid = PodUid(str(number))
        if book.why_wait(uid, None, now, gone) == "":
            book.evicted(uid, None, now)
            times.append(now)
    for start in times:
        assert sum(start <= each < start + 60.0 for each in times) <= per_minute
