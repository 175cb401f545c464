"""Indexes are fixed when the node is first seen, whatever the driver counts afterwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupods.identity import GpuUuid
from nodeagent.health.inventory import Inventory, Slot, pci_key, recognise
from nodeagent.health.observations import ListedGpu, Presence, Reading

WELL = Reading(Presence.PRESENT)


def gpu(index: int, letter: str, bus: int | None = None) -> ListedGpu:
    """The GPU of that letter, as the driver lists it; on the bus that its letter implies."""
    number = ord(letter) - ord("A") if bus is None else bus
    return ListedGpu(index, GpuUuid(f"GPU-{letter}"), f"00000000:{number:02X}:00.0", "H100", WELL)


def nameless(index: int) -> ListedGpu:
    return ListedGpu(index, GpuUuid(""), "", "", Reading(Presence.LOST))


def node(letters: str) -> Inventory:
    return recognise(
        Inventory(), [gpu(index, letter) for index, letter in enumerate(letters)]
    ).inventory


def letters(inventory: Inventory) -> str:
    return "".join(slot.uuid.removeprefix("GPU-") for slot in inventory.slots)


def test_the_first_sight_fixes_the_indexes() -> None:
    assert [(slot.index, slot.uuid) for slot in node("ABC").slots] == [
        (0, "GPU-A"),
        (1, "GPU-B"),
        (2, "GPU-C"),
    ]


def test_one_that_goes_keeps_its_index_and_shifts_none() -> None:
    after = recognise(node("ABC"), [gpu(0, "B"), gpu(1, "C")])
    assert letters(after.inventory) == "ABC"
    assert [slot.index for slot, _ in after.present] == [1, 2]
    assert [slot.index for slot in after.missing] == [0]


def test_one_that_comes_back_gets_it_again() -> None:
    gone = recognise(node("ABC"), [gpu(0, "B"), gpu(1, "C")]).inventory
    back = recognise(gone, [gpu(0, "A"), gpu(1, "B"), gpu(2, "C")])
    assert (back.inventory, back.missing, back.replaced) == (node("ABC"), (), ())


def test_another_board_at_its_address_takes_its_index() -> None:
    after = recognise(node("ABC"), [gpu(0, "A"), gpu(1, "X", bus=1), gpu(2, "C")])
    assert letters(after.inventory) == "AXC"
    ((before, now),) = after.replaced
    assert (before.uuid, now.uuid, now.index) == ("GPU-B", "GPU-X", 1)


def test_a_board_moved_to_another_slot_is_known_by_its_uuid() -> None:
    after = recognise(node("AB"), [gpu(0, "A"), gpu(1, "B", bus=9)])
    assert letters(after.inventory) == "AB"
    assert after.inventory.slots[1].pci_address == "00000000:09:00.0"
    assert after.replaced == ()


def test_two_boards_that_changed_places_keep_their_indexes() -> None:
    after = recognise(node("AB"), [gpu(0, "B", bus=0), gpu(1, "A", bus=1)])
    assert letters(after.inventory) == "AB"
    assert [slot.pci_address for slot in after.inventory.slots] == [
        "00000000:01:00.0",
        "00000000:00:00.0",
    ]


def test_one_that_moved_to_the_address_of_one_that_is_gone_does_not_share_it() -> None:
    after = recognise(node("AB"), [gpu(0, "A", bus=1)])
    assert [slot.pci_address for slot in after.inventory.slots] == ["00000000:01:00.0", ""]
    assert letters(after.inventory) == "AB"


def test_a_new_gpu_takes_the_drivers_index_if_it_is_free_else_the_next() -> None:
    grown = recognise(node("AB"), [gpu(0, "N", bus=7), gpu(1, "A"), gpu(2, "B")])
    assert letters(grown.inventory) == "ABN"


def test_one_lost_before_it_was_ever_seen_leaves_its_index_free_for_it() -> None:
    first = recognise(Inventory(), [nameless(0), gpu(1, "B")])
    assert [slot.index for slot in first.inventory.slots] == [1]
    later = recognise(first.inventory, [gpu(0, "A"), gpu(1, "B")])
    assert letters(later.inventory) == "AB"


def test_one_that_is_lost_and_tells_nothing_is_the_missing_one_of_its_index() -> None:
    after = recognise(node("AB"), [nameless(0), gpu(1, "B")])
    assert [(slot.uuid, listed.reading.presence) for slot, listed in after.present] == [
        ("GPU-A", Presence.LOST),
        ("GPU-B", Presence.PRESENT),
    ]
    assert after.inventory == node("AB")


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("00000000:C4:00.0", (0, 0xC4, 0)),
        ("0000:c4:00", (0, 0xC4, 0)),
        ("c4:00.0", (0, 0xC4, 0)),
        ("00010000:01:1f.7", (0x10000, 1, 0x1F)),
        ("", None),
        ("GPU-1", None),
        ("a:b:c:d", None),
    ],
)
def test_addresses_are_compared_as_numbers(address: str, key: tuple[int, int, int] | None) -> None:
    assert pci_key(address) == key


def test_a_place_is_found_by_any_way_of_writing_its_address() -> None:
    slot = Slot(3, GpuUuid("GPU-A"), "00000000:C4:00.0", "")
    assert Inventory((slot,)).by_pci("0000:c4:00") == slot
    assert Inventory((slot,)).by_pci("nonsense") is None
    assert Inventory((slot,)).by_uuid(GpuUuid("")) is None


present_letters = st.sets(st.sampled_from("ABCDEFGH"), min_size=1)


@given(st.lists(present_letters, min_size=1, max_size=10))
def test_no_index_is_ever_another_gpus(times: list[set[str]]) -> None:
    inventory = Inventory()
    given: dict[GpuUuid, int] = {}
    for letters_now in times:
        listed = [gpu(index, letter) for index, letter in enumerate(sorted(letters_now))]
        seen = recognise(inventory, listed)
        inventory = seen.inventory
        assert len(seen.present) == len(listed)
        for slot, one in seen.present:
            assert given.setdefault(one.uuid, slot.index) == slot.index
        indexes = [slot.index for slot in inventory.slots]
        assert indexes == sorted(set(indexes))
        assert {slot.uuid for slot in inventory.slots} == set(given)
