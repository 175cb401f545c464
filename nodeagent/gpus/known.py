"""The GPUs this node has shown so far: an index once given stays, and one that goes is missed.

The driver counts the GPUs it finds, so a GPU that falls off the bus shifts the indexes of those
behind it. Values only; remembering them across a restart of the agent is not done here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpupods.identity import GpuUuid
from nodeagent.gpus.sample import Gpu, GpuSample, Missing, MissingKind


def identity_only(gpu: Gpu) -> Gpu:
    """``gpu`` without anything that may have changed since it was seen."""
    return replace(
        gpu,
        memory_total_bytes=None,
        memory_used_bytes=None,
        utilization_percent=None,
        processes=(),
        processes_whole=False,
    )


class KnownGpus:
    """What samples have shown, by UUID."""

    def __init__(self) -> None:
        self._gpus: dict[GpuUuid, Gpu] = {}
        self._at_driver_index: dict[int, GpuUuid] = {}
        """Which one the driver last counted there."""

    def recognise(self, sample: GpuSample) -> GpuSample:
        """``sample`` with each GPU under its first index, and with those that have left.

        A GPU seen before that the driver cannot reach or no longer lists stays, without what
        changes, and is among the missing by its UUID.
        """
        present = [self._settle(gpu) for gpu in sample.gpus]
        here = {gpu.uuid for gpu in present}
        left = [identity_only(gpu) for uuid, gpu in self._gpus.items() if uuid not in here]
        if not left and all(a is b for a, b in zip(present, sample.gpus, strict=True)):
            return sample
        return replace(
            sample,
            gpus=tuple(sorted([*present, *left], key=lambda gpu: gpu.index)),
            missing=self._miss(sample.missing, left),
        )

    def last_seen(self) -> tuple[Gpu, ...]:
        """Every GPU seen so far, without what changes. By index."""
        return tuple(map(identity_only, sorted(self._gpus.values(), key=lambda gpu: gpu.index)))

    def _settle(self, gpu: Gpu) -> Gpu:
        self._at_driver_index[gpu.index] = gpu.uuid
        known = self._gpus.get(gpu.uuid)
        index = self._free_index(gpu.index) if known is None else known.index
        settled = gpu if gpu.index == index else replace(gpu, index=index)
        self._gpus[gpu.uuid] = settled
        return settled

    def _free_index(self, wanted: int) -> int:
        taken = {gpu.index for gpu in self._gpus.values()}
        return wanted if wanted not in taken else max(taken) + 1

    def _miss(self, missing: Iterable[Missing], left: Iterable[Gpu]) -> tuple[Missing, ...]:
        """The driver names a GPU that it cannot reach by its own index: say which one it was."""
        unnamed = {gpu.uuid: gpu for gpu in left}
        subjects = {f"gpu {index}": uuid for index, uuid in self._at_driver_index.items()}
        told: list[Missing] = []
        for entry in missing:
            gpu = None
            if entry.kind is MissingKind.GPU and entry.subject in subjects:
                gpu = unnamed.pop(subjects[entry.subject], None)
            told.append(entry if gpu is None else _named(entry, gpu))
        return (*told, *map(_gone, unnamed.values()))


def _named(entry: Missing, gpu: Gpu) -> Missing:
    return Missing(MissingKind.GPU, gpu.uuid, f"{_which(gpu)}: {entry.reason}")


def _gone(gpu: Gpu) -> Missing:
    return Missing(
        MissingKind.GPU,
        gpu.uuid,
        f"{_which(gpu)} was there before and the driver no longer lists it: it has fallen off "
        "the bus, or was drained or taken out; look for Xid 79 in `dmesg | grep Xid`, and restart "
        "the node agent if it was meant to go",
    )


def _which(gpu: Gpu) -> str:
    return f"gpu {gpu.index} ({gpu.name}) at {gpu.pci_address}"
