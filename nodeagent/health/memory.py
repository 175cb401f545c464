"""What the agent must not forget at a restart, as one value and as the text of its file. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from nodeagent.health.causes import CauseKind
from nodeagent.health.condition import Fault, GpuState
from nodeagent.health.inventory import Inventory, Slot

VERSION = 1


class NotReadableError(ValueError):
    """The text is no memory: cut off, or something else altogether."""


class FutureVersionError(ValueError):
    """The text was written by a newer agent."""


@dataclass(frozen=True, slots=True)
class Known:
    """One place and the GPU in it."""

    slot: Slot
    state: GpuState


@dataclass(frozen=True, slots=True)
class LogMark:
    """Up to where the kernel log of one boot was heard."""

    boot_id: str = ""
    sequence: int = -1


@dataclass(frozen=True, slots=True)
class Memory:
    """Everything that is kept."""

    gpus: tuple[Known, ...] = ()
    """By index."""
    kernel_log: LogMark = LogMark()

    @property
    def inventory(self) -> Inventory:
        """The places."""
        return Inventory(tuple(known.slot for known in self.gpus))


@dataclass(frozen=True, slots=True)
class _File:
    version: int
    memory: Memory


@dataclass(frozen=True, slots=True)
class _Versioned:
    version: int


def lasting(memory: Memory) -> Memory:
    """``memory`` without what changes at every reading. After a restart the dwell begins anew."""
    return replace(
        memory,
        gpus=tuple(replace(known, state=_lasting_state(known.state)) for known in memory.gpus),
    )


def worth_writing(written: Memory | None, memory: Memory) -> bool:
    """Whether ``memory`` has something that the file has not."""
    return written is None or _unrepeated(lasting(memory)) != _unrepeated(lasting(written))


def encode(memory: Memory) -> bytes:
    """The file's text: JSON, for people too."""
    return msgspec.json.format(msgspec.json.encode(_File(VERSION, lasting(memory))), indent=1)


def decode(text: bytes) -> Memory:
    """Read the file's text.

    Raises:
        NotReadableError: it is cut off, or no such file.
        FutureVersionError: a newer agent wrote it.
    """
    try:
        version = msgspec.json.decode(text, type=_Versioned).version
        if version > VERSION:
            raise FutureVersionError(
                f"it is of version {version}, and this agent knows versions up to {VERSION}"
            )
        return msgspec.json.decode(text, type=_File).memory
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotReadableError(str(error)) from None


def merged(kept: Memory, seen: Memory) -> Memory:
    """What one agent of a node has kept, with the faults that another one saw meanwhile.

    GPUs that only the second knows of get the next indexes that are free.
    """
    mine = {known.slot.uuid: known for known in seen.gpus}
    gpus = [_with_faults(known, mine.pop(known.slot.uuid, None)) for known in kept.gpus]
    for known in mine.values():
        taken = {other.slot.index for other in gpus}
        index = known.slot.index if known.slot.index not in taken else max(taken) + 1
        gpus.append(replace(known, slot=replace(known.slot, index=index)))
    ordered = tuple(sorted(gpus, key=lambda known: known.slot.index))
    return replace(kept, gpus=ordered)


def _with_faults(kept: Known, seen: Known | None) -> Known:
    state = kept.state
    for fault in seen.state.faults if seen is not None else ():
        if state.fault(fault.cause) is None:
            state = state.with_fault(fault)
    return replace(kept, state=state)


def _lasting_state(state: GpuState) -> GpuState:
    return replace(state, clean=None, clock_s=0.0, unreadable=0)


def _unrepeated(memory: Memory) -> Memory:
    """What holds at each reading is noted when it begins, not at each reading."""

    def once(fault: Fault) -> Fault:
        if fault.cause.kind == CauseKind.XID.value:
            return fault
        return replace(fault, last_s=0.0, detail="", source="")

    return replace(
        memory,
        gpus=tuple(
            replace(
                known,
                state=replace(known.state, faults=tuple(map(once, known.state.faults))),
            )
            for known in memory.gpus
        ),
    )
