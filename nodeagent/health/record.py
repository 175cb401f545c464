"""What is known of a node's GPUs: their places and states, and how each thing told changes them.

No I/O and no clock: the moment and the policy are given. What a thing means for one GPU is
`nodeagent.health.machine`'s to decide; here it is found out which GPU it is about.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

import structlog

from gpupods.identity import GpuUuid
from nodeagent.health.condition import GpuState, Now
from nodeagent.health.inventory import Slot, pci_key, recognise
from nodeagent.health.machine import replaced_board, step, time_matters
from nodeagent.health.memory import Known, LogMark, Memory, merged
from nodeagent.health.observations import (
    DriverRead,
    DriverSilent,
    ListedGpu,
    Presence,
    Reading,
    Seen,
    TimePassed,
    XidOfGpu,
)
from nodeagent.health.policy import Policy
from nodeagent.health.verdict import Verdict, judge

_MOST_OF_UNKNOWN = 200

log = structlog.get_logger()


class Record:
    """Of one node.

    Attributes:
        memory: All of it that outlives the agent, and more.
    """

    def __init__(self) -> None:
        self.memory = Memory()
        self._of_unknown: deque[XidOfGpu] = deque(maxlen=_MOST_OF_UNKNOWN)
        self._heard_to = -1
        """The last record of the kernel log with an XID."""
        self._addresses_of = ""
        """The boot in which the GPUs had the PCI addresses that are known."""
        self._has_read = False

    def remember(self, memory: Memory, now: Now, policy: Policy) -> None:
        """What an earlier agent of this node knew."""
        self.memory = memory
        if all(known.state.boot_id == now.boot_id for known in memory.gpus):
            self._addresses_of = now.boot_id
        self.pass_time(now, policy, everywhere=True)

    def adopt(self, kept: Memory, now: Now, policy: Policy) -> None:
        """What another agent of this node knew, beside what this one has seen."""
        self.memory = merged(kept, self.memory)
        self.pass_time(now, policy, everywhere=True)

    def place_of(self, index: int) -> int:
        """Where in the memory the GPU of this index is.

        Raises:
            KeyError: there is none such.
        """
        indexes = [known.slot.index for known in self.memory.gpus]
        if index not in indexes:
            there = ", ".join(map(str, indexes)) or "none"
            raise KeyError(f"this node has no GPU of index {index}; those it has: {there}")
        return indexes.index(index)

    def verdicts(self, policy: Policy) -> tuple[Verdict, ...]:
        """One for each GPU, by index."""
        return tuple(judge(known.slot, known.state, policy) for known in self.memory.gpus)

    def see(self, seen: Iterable[tuple[int, Seen]], now: Now, policy: Policy) -> None:
        """Each of these GPUs (by its place in the memory) has seen something."""
        gpus = list(self.memory.gpus)
        for place, what in seen:
            known = gpus[place]
            gpus[place] = replace(known, state=step(known.state, what, now, policy))
        self.memory = replace(self.memory, gpus=tuple(gpus))

    def pass_time(self, now: Now, policy: Policy, *, everywhere: bool) -> bool:
        """Time has passed: for those GPUs to which that may matter, or ``everywhere``.

        Returns: whether there is such a GPU.
        """
        places = [
            place
            for place, known in enumerate(self.memory.gpus)
            if everywhere or time_matters(known.state)
        ]
        self.see(((place, TimePassed()) for place in places), now, policy)
        return bool(places)

    def read(self, told: DriverRead, now: Now, policy: Policy) -> None:
        """The driver has listed its GPUs."""
        listed = [self._as_it_can_be(gpu, now) for gpu in told.gpus]
        found = recognise(self.memory.inventory, listed)
        for before, after in found.replaced:
            log.info("gpu.in_place", index=after.index, gpu=after.uuid, before=before.uuid or None)
        states = {known.slot.index: known.state for known in self.memory.gpus}
        fresh = {after.index for before, after in found.replaced if before.uuid}
        gpus = tuple(
            Known(slot, _state(states.get(slot.index), fresh=slot.index in fresh))
            for slot in found.inventory.slots
        )
        self.memory = replace(self.memory, gpus=gpus)
        self._addresses_of, self._has_read = now.boot_id, True
        readings = {slot.index: gpu.reading for slot, gpu in found.present}
        readings |= {slot.index: Reading(Presence.MISSING) for slot in found.missing}
        told_of = ((place, readings[known.slot.index]) for place, known in enumerate(gpus))
        self.see(told_of, now, policy)
        waiting, self._of_unknown = self._of_unknown, deque(maxlen=_MOST_OF_UNKNOWN)
        for xid in waiting:
            self._xid(xid, now, policy, told_before=True)
        if waiting:
            self.note_kernel_log(self._heard_to, now)

    def _as_it_can_be(self, gpu: ListedGpu, now: Now) -> ListedGpu:
        """A board is not replaced between two readings: a UUID may be garbled as any text."""
        inventory = self.memory.inventory
        slot = inventory.by_pci(gpu.pci_address)
        if slot is None or not gpu.uuid or inventory.by_uuid(gpu.uuid) is not None:
            return gpu
        state = self.memory.gpus[self.place_of(slot.index)].state
        if not self._has_read or not slot.uuid or state.away or state.boot_id != now.boot_id:
            return gpu
        detail = f"it says that it is {gpu.uuid}, and was not away"
        reading = replace(gpu.reading, presence=Presence.UNREADABLE, detail=detail)
        return replace(gpu, uuid=GpuUuid(""), name="", reading=reading)

    def silent(self, told: DriverSilent, now: Now, policy: Policy) -> None:
        """The driver does not answer: that concerns every GPU."""
        reading = Reading(told.presence, detail=told.reason)
        self.see(((place, reading) for place in range(len(self.memory.gpus))), now, policy)

    def xid(self, told: XidOfGpu, now: Now, policy: Policy) -> None:
        """One of a GPU that was never seen waits for it, and makes no other GPU unfit."""
        self._xid(told, now, policy, told_before=False)

    def note_kernel_log(self, sequence: int, now: Now) -> None:
        """The kernel log has been heard up to there; not past an XID that waits for its GPU."""
        self._heard_to = sequence
        if not self._of_unknown:
            self.memory = replace(self.memory, kernel_log=LogMark(now.boot_id, sequence))

    def _xid(self, told: XidOfGpu, now: Now, policy: Policy, *, told_before: bool) -> None:
        slot = self._slot_of(told, now)
        about = {
            "xid": told.seen.xid,
            "gpu": told.uuid or (slot.uuid if slot else None),
            "pci_address": told.pci_address or (slot.pci_address if slot else None),
            "source": told.seen.source,
            "detail": told.seen.detail or None,
        }
        if slot is not None:
            log.info("gpu.xid", index=slot.index, **about)
            self.see([(self.place_of(slot.index), told.seen)], now, policy)
            return
        if told.uuid or pci_key(told.pci_address) is not None:  # else no GPU will ever be it
            self._of_unknown.append(told)
        if not told_before:
            log.warning("gpu.xid_of_unknown_gpu", **about)

    def _slot_of(self, told: XidOfGpu, now: Now) -> Slot | None:
        """The place that is meant. After a restart a board may have another one's address."""
        inventory = self.memory.inventory
        slot = inventory.by_uuid(told.uuid)
        if slot is None and self._addresses_of == now.boot_id:
            slot = inventory.by_pci(told.pci_address)
        return slot


def _state(state: GpuState | None, *, fresh: bool) -> GpuState:
    if state is None:
        return GpuState()
    return replaced_board(state) if fresh else state
