"""One GPU, read through NVML: whatever it answers is kept, whatever it does not is named.

A query that the GPU does not support leaves its value unknown without more words; a query
that fails is also named among what is missing. Imported by the child process: keep it light.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pynvml

from gpupods.identity import GpuUuid
from nodeagent.gpus.nvml_errors import GPU_GONE, LIBRARY_GONE, DriverUnavailableError, explain
from nodeagent.gpus.process_lists import ListedProcess, ProcessLists, merge
from nodeagent.gpus.progress import Progress
from nodeagent.gpus.sample import (
    Gpu,
    GpuProcess,
    MigDevice,
    MigMode,
    Missing,
    MissingKind,
    ProcessType,
)

_UNSUPPORTED = frozenset({pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND})
_NOTHING_THERE = frozenset({pynvml.NVML_ERROR_NOT_FOUND, pynvml.NVML_ERROR_INVALID_ARGUMENT})
_MIG_FACTS = (
    pynvml.nvmlDeviceGetGpuInstanceId,
    pynvml.nvmlDeviceGetComputeInstanceId,
    pynvml.nvmlDeviceGetUUID,
)
_SHOWN = 40
"""Bytes of a text that is garbled."""
_NOT_FOR_US = _UNSUPPORTED | {pynvml.NVML_ERROR_NO_PERMISSION}


@dataclass(frozen=True, slots=True)
class Identity:
    """What does not change while NVML stays initialised."""

    uuid: GpuUuid
    name: str
    pci_address: str


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One GPU of a sample."""

    gpu: Gpu | None
    """None: not even its UUID is known."""
    missing: tuple[Missing, ...]
    gone: bool
    """It can only be reached again after a new initialisation, if at all."""


@dataclass(slots=True)
class _Questions:
    """The queries to one GPU, and those it failed. Once it is gone it is left alone."""

    subject: str
    progress: Progress
    missing: list[Missing] = field(default_factory=list)
    gone: bool = False

    def ask(
        self,
        function: Callable[..., Any],
        *args: object,
        name: str = "",
        quiet: frozenset[int] = _UNSUPPORTED,
    ) -> Any:
        """The answer; None if there is none. Errors among ``quiet`` are not worth a word."""
        if self.gone:
            return None
        asked = name or function.__name__
        self.progress.note(f"{asked} of {self.subject}")
        try:
            return function(*args)
        except pynvml.NVMLError as error:
            words = explain(asked, error)
            if error.value in LIBRARY_GONE:
                raise DriverUnavailableError(words) from error
            if error.value not in quiet:
                self.missing.append(Missing(MissingKind.GPU, self.subject, words))
            self.gone = error.value in GPU_GONE
            return None
        except UnicodeDecodeError as error:  # as after an error on its bus
            words = f"{asked}: the driver gave a text that is none: {error.object[:_SHOWN]!r}"
            self.missing.append(Missing(MissingKind.GPU, self.subject, words))
            return None


class GpuReader:
    """Reads GPUs by index, between two initialisations of NVML."""

    def __init__(self, lists: ProcessLists, progress: Progress) -> None:
        self._lists = lists
        self._progress = progress
        self._identities: dict[int | None, Identity] = {}

    def read(self, index: int) -> GpuReading:
        """The state of one GPU now.

        Raises:
            DriverUnavailableError: The driver as a whole has gone.
        """
        questions = _Questions(f"gpu {index}", self._progress)
        handle = questions.ask(pynvml.nvmlDeviceGetHandleByIndex, index, quiet=frozenset())
        identity = self._identity(handle, questions)
        if identity is None:
            return GpuReading(None, tuple(questions.missing), questions.gone)
        questions.subject = identity.uuid
        memory = _memory(handle, questions)
        utilization = questions.ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
        mig_mode = _mig_mode(handle, questions)
        told = len(questions.missing)
        processes = self._processes(handle, mig_mode, questions)
        gpu = Gpu(
            index=index,
            uuid=identity.uuid,
            name=identity.name,
            pci_address=identity.pci_address,
            memory_total_bytes=None if memory is None else memory.total,
            memory_used_bytes=None if memory is None else memory.used,
            utilization_percent=None if utilization is None else utilization.gpu,
            mig_mode=mig_mode,
            processes=processes,
            processes_whole=not questions.gone and len(questions.missing) == told,
        )
        return GpuReading(gpu, tuple(questions.missing), questions.gone)

    def _identity(self, handle: Any, questions: _Questions) -> Identity | None:
        """Asked once for each handle: the driver's handles stand for the same GPU throughout."""
        if handle is None:
            return None
        key = ctypes.cast(handle, ctypes.c_void_p).value
        known = self._identities.get(key)
        if known is not None:
            return known
        uuid = questions.ask(pynvml.nvmlDeviceGetUUID, handle, quiet=frozenset())
        if uuid is None:
            return None
        questions.subject = uuid
        name = questions.ask(pynvml.nvmlDeviceGetName, handle, quiet=frozenset())
        bus_id = questions.ask(_bus_id, handle, name="nvmlDeviceGetPciInfo", quiet=frozenset())
        identity = Identity(GpuUuid(uuid), name or "", bus_id or "")
        if name is not None and bus_id is not None:
            self._identities[key] = identity
        return identity

    def _processes(
        self, handle: Any, mig_mode: MigMode, questions: _Questions
    ) -> tuple[GpuProcess, ...]:
        """Under MIG the devices' lists are the source; the GPU's own fill in what those lack."""
        before = len(questions.missing)
        of_migs = []
        if mig_mode is MigMode.ENABLED:
            for mig_handle, device in _mig_devices(handle, questions):
                of = f" of {device.uuid}"
                of_migs.append((device, self._listed(mig_handle, questions, of=of)))
        walked = mig_mode is MigMode.ENABLED and len(questions.missing) == before
        return merge(self._listed(handle, questions, optional=walked), of_migs)

    def _listed(
        self, handle: Any, questions: _Questions, *, of: str = "", optional: bool = False
    ) -> list[ListedProcess]:
        processes: list[ListedProcess] = []
        for kind in ProcessType:
            must = kind is ProcessType.COMPUTE and not optional
            answer = questions.ask(
                self._lists.fetch,
                handle,
                kind,
                name=self._lists.function(kind) + of,
                quiet=frozenset() if must else _NOT_FOR_US,
            )
            processes += answer or ()
        return processes


def _bus_id(handle: Any) -> str:
    return str(pynvml.nvmlDeviceGetPciInfo(handle).busId)


def _memory(handle: Any, questions: _Questions) -> Any:
    """The second version tells apart what the driver keeps for itself, as nvidia-smi does."""
    if questions.gone:
        return None
    questions.progress.note(f"nvmlDeviceGetMemoryInfo of {questions.subject}")
    try:
        return pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
    except pynvml.NVMLError:
        return questions.ask(pynvml.nvmlDeviceGetMemoryInfo, handle)


def _mig_mode(handle: Any, questions: _Questions) -> MigMode:
    before = len(questions.missing)
    answer = questions.ask(pynvml.nvmlDeviceGetMigMode, handle)
    if answer is not None:
        return MigMode.ENABLED if answer[0] == pynvml.NVML_DEVICE_MIG_ENABLE else MigMode.DISABLED
    failed = questions.gone or len(questions.missing) > before
    return MigMode.UNKNOWN if failed else MigMode.UNSUPPORTED


def _mig_devices(handle: Any, questions: _Questions) -> Iterator[tuple[Any, MigDevice]]:
    """Each MIG device with its handle. Not kept: devices are made and destroyed at any time."""
    count = questions.ask(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle, quiet=frozenset())
    for index in range(count or 0):
        mig = questions.ask(
            pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index, quiet=_NOTHING_THERE
        )
        if mig is None:
            continue
        gpu_instance, compute_instance, uuid = (
            questions.ask(
                function, mig, name=f"{function.__name__} of MIG device {index}", quiet=frozenset()
            )
            for function in _MIG_FACTS
        )
        if gpu_instance is not None and compute_instance is not None:
            yield mig, MigDevice(gpu_instance, compute_instance, uuid or "")
