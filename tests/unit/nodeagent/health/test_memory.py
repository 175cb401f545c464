"""What outlives the agent is written, read back the same, and only when there is something new."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given

from gpupods.identity import GpuUuid
from nodeagent.health.condition import GpuState
from nodeagent.health.inventory import Slot
from nodeagent.health.memory import Known, LogMark, Memory, decode, encode, lasting, worth_writing
from tests.unit.nodeagent.health.lives import LOST, WELL, Life
from tests.unit.nodeagent.health.test_machine_properties import BRIEF, lives

SLOT = Slot(3, GpuUuid("GPU-A"), "00000000:C4:00.0", "H100")


def memory(state: GpuState) -> Memory:
    return Memory((Known(SLOT, state),), LogMark("boot-1", 42))


@given(lives)
def test_what_is_written_is_read_back(life: list[Callable[[Life], None]]) -> None:
    one = Life(BRIEF)
    one.exclude(until_wall=2e9)
    for happens in life:
        happens(one)
    kept = memory(one.state)
    assert decode(encode(kept)) == lasting(kept)


def test_readings_that_change_nothing_are_not_worth_writing() -> None:
    life = Life()
    life.read()
    written = memory(life.state)
    life.read_for(100)
    assert not worth_writing(written, memory(life.state))
    life.read(LOST)
    assert worth_writing(written, memory(life.state))
    written = memory(life.state)
    life.read_for(100, LOST)
    assert not worth_writing(written, memory(life.state))
    life.read(WELL)
    assert worth_writing(written, memory(life.state)), "it was reset"


def test_an_xid_again_is_worth_writing() -> None:
    life = Life()
    life.xid(79)
    written = memory(life.state)
    life.wait(5)
    assert not worth_writing(written, memory(life.state))
    life.xid(79)
    assert worth_writing(written, memory(life.state))


def test_nothing_written_yet_is() -> None:
    assert worth_writing(None, Memory())
