"""The driver's process lists: fetched in the version that the driver fills rightly, and merged.

A process may stand in several lists of one GPU (compute, graphics, MPS), and under MIG in the
GPU's own lists as well as in the MIG device's: `merge` makes one row of each.
Imported by the child process: keep it light.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pynvml

from gpupods.identity import Pid
from nodeagent.gpus.sample import GpuProcess, MigDevice, ProcessType

NO_INSTANCE = 0xFFFFFFFF
"""What the driver gives for both instance ids of a process that is on no MIG device."""

_FETCHES = 5
_Fetch = Callable[[Any], Sequence[Any]]

_LISTS: dict[int, dict[ProcessType, _Fetch]] = {
    3: {
        ProcessType.COMPUTE: pynvml.nvmlDeviceGetComputeRunningProcesses_v3,
        ProcessType.GRAPHICS: pynvml.nvmlDeviceGetGraphicsRunningProcesses_v3,
        ProcessType.MPS: pynvml.nvmlDeviceGetMPSComputeRunningProcesses_v3,
    },
    2: {
        ProcessType.COMPUTE: pynvml.nvmlDeviceGetComputeRunningProcesses_v2,
        ProcessType.GRAPHICS: pynvml.nvmlDeviceGetGraphicsRunningProcesses_v2,
        ProcessType.MPS: pynvml.nvmlDeviceGetMPSComputeRunningProcesses_v2,
    },
}


@dataclass(frozen=True, slots=True)
class ListedProcess:
    """One entry of one list."""

    pid: int
    type: ProcessType
    used_memory_bytes: int | None
    instances: tuple[int, int] | None
    """GPU instance and compute instance; None: on no MIG device, as far as the list tells."""


def best_version(driver_version: str) -> int:
    """Which lists to ask this driver for first: 3, or 2 where it fills the third wrongly.

    Drivers 535.43 to before 535.86 lay the entries of a `_v3` list out as a later version does.
    """
    parts = driver_version.split(".")
    try:
        release = (int(parts[0]), int(parts[1]))
    except (IndexError, ValueError):
        return 3
    return 2 if (535, 43) <= release < (535, 86) else 3


class ProcessLists:
    """Fetches lists from one driver, and remembers which version it has."""

    def __init__(self, driver_version: str) -> None:
        self._version = best_version(driver_version)

    def function(self, kind: ProcessType) -> str:
        """The name of the function that `fetch` would call, for people."""
        return _LISTS[self._version][kind].__name__

    def fetch(self, handle: object, kind: ProcessType) -> list[ListedProcess]:
        """The processes of one kind on a GPU or a MIG device.

        Raises:
            pynvml.NVMLError: The driver would not tell, in the older version neither.
        """
        try:
            entries = _fetch(_LISTS[self._version][kind], handle)
        except pynvml.NVMLError_FunctionNotFound:
            if self._version == 2:  # noqa: PLR2004
                raise
            self._version = 2
            entries = _fetch(_LISTS[2][kind], handle)
        return [_listed(entry, kind) for entry in entries]


def _fetch(function: _Fetch, handle: object) -> Sequence[Any]:
    """Again while the list outgrows, between its two calls, the room that pynvml leaves."""
    for _ in range(_FETCHES - 1):
        try:
            return function(handle)
        except pynvml.NVMLError_InsufficientSize:
            continue
    return function(handle)


def _listed(entry: Any, kind: ProcessType) -> ListedProcess:
    gpu_instance, compute_instance = entry.gpuInstanceId, entry.computeInstanceId
    on_mig = NO_INSTANCE not in (gpu_instance, compute_instance)
    return ListedProcess(
        entry.pid,
        kind,
        entry.usedGpuMemory,
        (gpu_instance, compute_instance) if on_mig else None,
    )


def merge(
    of_gpu: Iterable[ListedProcess], of_migs: Iterable[tuple[MigDevice, Iterable[ListedProcess]]]
) -> tuple[GpuProcess, ...]:
    """One row for each (pid, MIG device), by pid and MIG UUID.

    ``of_gpu`` are the GPU's own lists: under MIG they repeat what the MIG devices list, with the
    instances' ids where the driver gives them. The greatest memory that any list gives counts:
    lists repeat a process's memory, they do not share it out.
    """
    rows: dict[tuple[int, MigDevice | None], list[ListedProcess]] = {}
    devices: dict[tuple[int, int], MigDevice] = {}
    seen_on_mig: set[int] = set()
    for device, listed in of_migs:
        devices[device.gpu_instance, device.compute_instance] = device
        for process in listed:
            rows.setdefault((process.pid, device), []).append(process)
            seen_on_mig.add(process.pid)
    for process in of_gpu:
        mig = devices.get(process.instances) if process.instances else None
        if mig is None and process.pid in seen_on_mig:
            continue  # repeated without saying where
        rows.setdefault((process.pid, mig), []).append(process)
    ordered = sorted(rows, key=lambda key: (key[0], key[1].uuid if key[1] else ""))
    return tuple(_row(pid, mig, rows[pid, mig]) for pid, mig in ordered)


def _row(pid: int, mig: MigDevice | None, entries: Sequence[ListedProcess]) -> GpuProcess:
    known = [entry.used_memory_bytes for entry in entries if entry.used_memory_bytes is not None]
    return GpuProcess(
        pid=Pid(pid),
        types=tuple(sorted({entry.type for entry in entries})),
        used_memory_bytes=max(known, default=None),
        mig=mig,
    )
