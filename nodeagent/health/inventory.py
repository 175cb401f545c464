"""Which GPU has which index: fixed when the node is first seen, whatever comes and goes. Pure.

The driver counts the GPUs it finds, so one that falls off the bus shifts those behind it. Here
a GPU keeps its index by its UUID; a board that takes another one's PCI address takes its index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpupods.identity import GpuUuid
from nodeagent.health.observations import ListedGpu


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a GPU, and the GPU that is in it or was in it last."""

    index: int
    uuid: GpuUuid
    pci_address: str
    """As the driver writes it, ``00000000:3B:00.0``; empty if it never told."""
    name: str


@dataclass(frozen=True, slots=True)
class Inventory:
    """The places of one node, by index."""

    slots: tuple[Slot, ...] = ()

    def by_uuid(self, uuid: GpuUuid) -> Slot | None:
        """The place of this GPU."""
        return next((slot for slot in self.slots if uuid and slot.uuid == uuid), None)

    def by_pci(self, pci_address: str) -> Slot | None:
        """The place at this address, however it is written."""
        wanted = pci_key(pci_address)
        if wanted is None:
            return None
        return next((slot for slot in self.slots if pci_key(slot.pci_address) == wanted), None)


@dataclass(frozen=True, slots=True)
class Recognised:
    """What became of the GPUs that the driver lists."""

    inventory: Inventory
    present: tuple[tuple[Slot, ListedGpu], ...]
    """Each listed GPU that could be told apart, with its place."""
    missing: tuple[Slot, ...]
    """The places whose GPU is not listed."""
    replaced: tuple[tuple[Slot, Slot], ...]
    """Where another board is now: the place before and after."""


def recognise(inventory: Inventory, listed: Sequence[ListedGpu]) -> Recognised:
    """Find the place of each listed GPU, and give one to each that is new.

    A GPU is known by its UUID first, wherever it is now; then by its PCI address: with another
    UUID that is another board. One that tells neither (it is lost) is taken for the missing one
    of its index. New ones take the driver's index if it is free, else the next after all others.
    """
    slots = {slot.index: slot for slot in inventory.slots}
    present: dict[int, ListedGpu] = {}
    replaced: list[tuple[Slot, Slot]] = []
    for gpu in _most_certain_first(inventory, listed):
        place = _place(tuple(slots.values()), gpu, present)
        if place is None:
            if not gpu.uuid:
                continue
            place = Slot(_free_index(slots, gpu.index), gpu.uuid, "", "")
        new = _filled(place, gpu)
        if gpu.uuid and place.uuid != gpu.uuid:
            replaced.append((place, new))
        slots[place.index] = new
        present[place.index] = gpu
    ordered = tuple(slots[index] for index in sorted(slots))
    return Recognised(
        Inventory(_without_double_addresses(ordered, present)),
        tuple((slots[index], present[index]) for index in sorted(present)),
        tuple(slot for slot in ordered if slot.index not in present),
        tuple(replaced),
    )


def _most_certain_first(inventory: Inventory, listed: Sequence[ListedGpu]) -> list[ListedGpu]:
    """Those known by UUID find their places before others can take them by address."""

    def doubt(gpu: ListedGpu) -> tuple[bool, bool, int]:
        return inventory.by_uuid(gpu.uuid) is None, not gpu.uuid, gpu.index

    return sorted(listed, key=doubt)


def _place(slots: Sequence[Slot], gpu: ListedGpu, present: dict[int, ListedGpu]) -> Slot | None:
    free = Inventory(tuple(slot for slot in slots if slot.index not in present))
    if not gpu.uuid and not gpu.pci_address:
        return next((slot for slot in free.slots if slot.index == gpu.index), None)
    return free.by_uuid(gpu.uuid) or free.by_pci(gpu.pci_address)


def _free_index(slots: dict[int, Slot], wanted: int) -> int:
    return wanted if wanted not in slots else max(slots) + 1


def _filled(place: Slot, gpu: ListedGpu) -> Slot:
    """What a GPU does not tell is as it was."""
    other_board = bool(gpu.uuid) and gpu.uuid != place.uuid
    return replace(
        place,
        uuid=gpu.uuid or place.uuid,
        pci_address=gpu.pci_address or place.pci_address,
        name=gpu.name or ("" if other_board else place.name),
    )


def _without_double_addresses(
    slots: tuple[Slot, ...], present: dict[int, ListedGpu]
) -> tuple[Slot, ...]:
    """A GPU that has moved on to the address of one that is gone: the gone one has none now."""
    taken = {pci_key(slot.pci_address) for slot in slots if slot.index in present}
    return tuple(
        replace(slot, pci_address="")
        if slot.index not in present and pci_key(slot.pci_address) in taken - {None}
        else slot
        for slot in slots
    )


def pci_key(address: str) -> tuple[int, int, int] | None:
    """Domain, bus and device of an address: ``00000000:C4:00.0`` and ``0000:c4:00`` are one.

    Returns: None if it is none.
    """
    fields = address.strip().partition(".")[0].split(":")
    if len(fields) == 2:  # noqa: PLR2004 - without a domain, as old drivers write it
        fields = ["0", *fields]
    try:
        domain, bus, device = (int(field, 16) for field in fields)
    except ValueError:
        return None
    return domain, bus, device
