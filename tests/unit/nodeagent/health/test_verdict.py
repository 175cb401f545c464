"""What is told of a GPU, in words."""

from __future__ import annotations

from dataclasses import replace

from gpupods.identity import GpuUuid
from nodeagent.health.inventory import Slot
from nodeagent.health.observations import Presence
from nodeagent.health.verdict import Standing, Verdict, judge
from tests.unit.nodeagent.health.lives import LOST, WELL, Life

SLOT = Slot(3, GpuUuid("GPU-A"), "00000000:C4:00.0", "H100")


def verdict(life: Life) -> Verdict:
    return judge(SLOT, life.state, life.policy)


def test_a_fit_gpu_has_nothing_to_tell() -> None:
    told = verdict(Life())
    assert (told.fit, told.reason, told.action, told.since_wall, told.others) == (
        True, "", "", None, (),
    )  # fmt: skip
    assert (told.index, told.uuid, told.pci_address) == (3, "GPU-A", "00000000:C4:00.0")


def test_the_gravest_leads_and_the_first_tells_since_when() -> None:
    life = Life()
    life.read(LOST)
    since = life.wall
    life.wait(60)
    life.xid(79)
    life.xid(119)
    told = verdict(life)
    assert (told.xid, told.since_wall) == (79, since)
    assert told.others == (
        "XID 119: the GPU's system processor does not answer the driver",
        "lost: the driver has lost the GPU: it has fallen off the bus",
    )
    assert told.ends.startswith("with a restart of the machine")


def test_recovering_is_when_only_time_is_wanting() -> None:
    life = Life()
    life.xid(119)
    life.read()
    assert verdict(life).standing is Standing.UNFIT
    life.read(replace(WELL, recovery_action=1))
    assert verdict(life).standing is Standing.UNFIT
    life.read()
    assert verdict(life).standing is Standing.UNFIT, "once is nothing"
    life.read()
    assert verdict(life).standing is Standing.RECOVERING
    assert not verdict(life).fit
    life.recover()
    assert verdict(life).standing is Standing.FIT


def test_one_that_answers_every_other_time_is_told_of_once() -> None:
    life = Life()
    life.read(LOST)
    before = verdict(life)
    for _ in range(20):
        life.read()
        assert verdict(life) == before
        life.read(replace(LOST, presence=Presence.UNREADABLE))
        assert verdict(life) == before


def test_a_verdict_is_equal_while_nothing_changes() -> None:
    life = Life()
    life.read(LOST)
    before = verdict(life)
    life.read_for(100, LOST)
    assert verdict(life) == before


def test_an_exclusion_leads_and_tells_who_and_the_faults_beside_it() -> None:
    life = Life()
    life.xid(79)
    life.exclude(until_wall=life.wall + 100)
    told = verdict(life)
    assert told.standing is Standing.EXCLUDED
    assert (told.reason, told.who, told.source) == (
        "excluded by anna: looks odd",
        "anna",
        "operator",
    )
    assert told.until_wall == life.wall + 100
    assert told.others == ("XID 79: the GPU has fallen off the bus",)
    assert told.overridden


def test_a_restored_gpu_with_a_standing_fault_is_fit_and_shows_whose_word_it_is() -> None:
    life = Life()
    life.read(replace(WELL, remap_failure=True))
    life.restore()
    told = verdict(life)
    assert (told.fit, told.overridden) == (True, True)
    assert told.reason == "restored by anna: looked at it"
    assert told.others == (
        "row-remap-failure: a bad memory row could not be replaced: no spare is left",
    )
