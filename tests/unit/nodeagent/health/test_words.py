"""Operators' words hold as long as they are there, are done once, and of the right board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.observations import Presence, Reading, Said, Word
from nodeagent.health.state import StateFolder
from nodeagent.health.words import Words
from tests.reportbed import WALL, WELL, NodeClock, listed, xid

REMAP_FAILED = Reading(Presence.PRESENT, 0, remap_failure=True)


@dataclass
class Heeding:
    """A monitor of two GPUs that hears words of the Node ``node``."""

    clock: NodeClock = field(default_factory=NodeClock)
    folder: StateFolder | None = None
    node: str = "node-uid"

    def __post_init__(self) -> None:
        self.monitor = HealthMonitor(now=self.clock, folder=self.folder)
        self.read()

    def read(self, *readings: Reading) -> None:
        self.monitor.tell(listed(*(readings or (WELL, WELL))))

    def xid(self, number: int) -> None:
        """Of GPU 1."""
        self.monitor.tell(xid(number, 1, self.clock.boot_s))

    def heed(self, said: Mapping[int, Said], problem: str = "") -> None:
        self.monitor.heed(Words(said, self.node, problem))

    def word(self, *, until: float | None = None, given: float | None = None) -> Word:
        given = self.clock.wall if given is None else given
        return Word("anna", "odd", given, until, self.node)

    def excluded(self, uuid: str = "", until: float | None = None) -> dict[int, Said]:
        return {1: Said(self.word(until=until), restores=False, uuid=uuid)}

    def restored(self, uuid: str = "", given: float | None = None) -> dict[int, Said]:
        return {1: Said(self.word(given=given), restores=True, uuid=uuid)}

    @property
    def unfit(self) -> list[int]:
        return [verdict.index for verdict in self.monitor.verdicts if not verdict.fit]


def test_an_exclusion_holds_while_it_is_there_and_may_be_told_any_number_of_times() -> None:
    heeding = Heeding()
    words = heeding.excluded()
    heeding.heed(words)
    assert heeding.unfit == [1]
    assert heeding.monitor.verdicts[1].who == "anna"
    version = heeding.monitor.version
    for _ in range(3):
        heeding.heed(words)
        heeding.read()
    assert heeding.monitor.version == version
    heeding.heed({})
    assert heeding.unfit == []


def test_taking_it_back_ends_no_fault() -> None:
    heeding = Heeding()
    heeding.heed(heeding.excluded())
    heeding.xid(142)
    heeding.heed({})
    assert heeding.unfit == [1]
    assert heeding.monitor.verdicts[1].xid == 142


def test_one_that_was_said_to_the_agent_itself_is_not_the_nodes_to_take_back() -> None:
    heeding = Heeding()
    heeding.monitor.exclude(1, Word("ben", "seen smoke", WALL))
    heeding.heed({})
    assert heeding.unfit == [1]
    heeding.heed(heeding.restored())
    assert heeding.unfit == []


def test_a_restoration_is_done_once() -> None:
    heeding = Heeding()
    heeding.xid(142)
    heeding.clock.advance(10)
    words = heeding.restored()
    heeding.heed(words)
    assert heeding.unfit == []
    heeding.clock.advance(10)
    heeding.xid(142)
    heeding.heed(words)
    assert heeding.unfit == [1], "that is a later fault"
    heeding.clock.advance(10)
    heeding.heed(heeding.restored())
    assert heeding.unfit == []


def test_a_restoration_that_is_read_again_ends_no_later_exclusion() -> None:
    heeding = Heeding()
    words = heeding.restored()
    heeding.heed(words)
    heeding.clock.advance(10)
    heeding.monitor.exclude(1, Word("ben", "seen smoke", heeding.clock.wall))
    heeding.heed(words)
    heeding.read()
    assert heeding.unfit == [1]


@pytest.mark.parametrize("number", [142, 999], ids=["known", "unknown"])
def test_one_given_before_a_fault_does_not_end_it(number: int) -> None:
    heeding = Heeding()
    words = heeding.restored()
    heeding.clock.advance(10)
    heeding.xid(number)
    heeding.heed(words)
    assert heeding.unfit == [1]


def test_one_given_before_a_fault_came_again_does_not_end_it() -> None:
    heeding = Heeding()
    heeding.xid(142)
    heeding.clock.advance(5)
    words = heeding.restored()
    heeding.clock.advance(5)
    heeding.xid(142)
    heeding.heed(words)
    assert heeding.unfit == [1]


def test_what_holds_at_each_reading_is_accepted_if_it_began_before() -> None:
    heeding = Heeding()
    heeding.read(WELL, REMAP_FAILED)
    heeding.clock.advance(5)
    words = heeding.restored()
    heeding.clock.advance(5)
    heeding.read(WELL, REMAP_FAILED)
    heeding.heed(words)
    heeding.read(WELL, REMAP_FAILED)
    assert heeding.unfit == []
    assert heeding.monitor.verdicts[1].overridden


def test_of_an_earlier_boot_it_must_have_been_given_in_this_one() -> None:
    heeding = Heeding()
    heeding.xid(142)
    heeding.clock.advance(5)
    late = heeding.restored()
    heeding.clock.advance(100)
    heeding.clock.boot, heeding.clock.boot_s = "boot-2", 10.0
    heeding.heed(late)
    assert heeding.unfit == [1], "whether it came again before the restart, nobody knows"
    heeding.heed(heeding.restored())
    assert heeding.unfit == []


async def test_a_restart_of_the_agent_does_not_do_it_again(tmp_path: Path) -> None:
    heeding = Heeding(folder=StateFolder(tmp_path))
    await heeding.monitor.start()
    heeding.read()
    heeding.xid(142)
    heeding.clock.advance(10)
    words = heeding.restored()
    heeding.heed(words)
    heeding.clock.advance(10)
    heeding.xid(142)
    await heeding.monitor.stop()
    after = Heeding(heeding.clock, StateFolder(tmp_path))
    await after.monitor.start()
    after.read()
    after.heed(words)
    assert after.unfit == [1]
    await after.monitor.stop()


async def test_a_restart_of_the_agent_keeps_an_exclusion_until_the_node_is_read(
    tmp_path: Path,
) -> None:
    heeding = Heeding(folder=StateFolder(tmp_path))
    await heeding.monitor.start()
    heeding.read()
    heeding.heed(heeding.excluded())
    await heeding.monitor.stop()
    after = Heeding(heeding.clock, StateFolder(tmp_path))
    await after.monitor.start()
    after.read()
    assert after.unfit == [1]
    after.heed({})
    assert after.unfit == []
    await after.monitor.stop()


def test_another_boards_word_does_not_count_and_is_told() -> None:
    heeding = Heeding()
    heeding.heed(heeding.excluded(uuid="GPU-7"))
    assert heeding.unfit == []
    (problem,) = heeding.monitor.problems
    assert "anna's word on GPU 1 is of board GPU-7, and there is GPU-1 now" in problem
    heeding.heed(heeding.excluded(uuid="GPU-1"))
    assert heeding.unfit == [1]
    assert heeding.monitor.problems == ()


def test_words_wait_for_the_gpus_to_be_seen() -> None:
    clock = NodeClock()
    monitor = HealthMonitor(now=clock)
    word = Word("anna", "odd", clock.wall, None, "node-uid")
    monitor.heed(Words({1: Said(word, restores=False)}, "node-uid"))
    assert monitor.problems == (), "nobody knows yet which GPUs there are"
    monitor.tell(listed(WELL, WELL))
    assert [verdict.fit for verdict in monitor.verdicts] == [True, False]


def test_one_ends_by_itself_and_does_not_begin_again() -> None:
    heeding = Heeding()
    words = heeding.excluded(until=heeding.clock.wall + 60)
    heeding.heed(words)
    assert heeding.unfit == [1]
    heeding.clock.advance(61)
    heeding.read()
    assert heeding.unfit == []
    version = heeding.monitor.version
    heeding.heed(words)
    heeding.read()
    assert (heeding.unfit, heeding.monitor.version) == ([], version)


def test_what_could_not_be_read_is_told_and_forgotten_when_it_can() -> None:
    heeding = Heeding()
    heeding.heed({}, problem="of GPU 3: not understood")
    assert heeding.monitor.problems == ("of GPU 3: not understood",)
    heeding.heed({})
    assert not heeding.monitor.problems
