"""The facts of one GPU's health, asked of NVML. Imported by the child process: keep it light."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import pynvml

from nodeagent.gpus.nvml_errors import GPU_GONE, LIBRARY_GONE, DriverUnavailableError, explain
from nodeagent.gpus.progress import Progress
from nodeagent.health.observations import Presence

Facts = dict[str, Any]
"""The fields of a `ListedGpu` and of its `Reading`, in one."""

_FIELDS = (
    pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION,
    pynvml.NVML_FI_DEV_REMAPPED_PENDING,
    pynvml.NVML_FI_DEV_REMAPPED_FAILURE,
)
_CANNOT_TELL = frozenset(
    {
        pynvml.NVML_ERROR_NOT_SUPPORTED,
        pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        pynvml.NVML_ERROR_NO_PERMISSION,
        pynvml.NVML_ERROR_INVALID_ARGUMENT,
    }
)
"""To a question that not every GPU or driver knows."""

_SHOWN = 40
"""Bytes of a text that is garbled."""


class _FailedError(Exception):
    """The GPU has answered with an error that says something of its health."""

    def __init__(self, presence: Presence, words: str) -> None:
        super().__init__(words)
        self.presence = presence


class FactReader:
    """Reads GPUs by index, between two initialisations of NVML."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._identities: dict[int | None, Facts] = {}
        """By the handle's address: a handle stands for one GPU throughout, an index may not."""
        self._last_at: dict[int, Facts] = {}
        self.handles: dict[int, Any] = {}
        """Of the GPUs that were present when last read."""

    def read(self, index: int) -> Facts:
        """All that can be told of the GPU at ``index``.

        Raises:
            DriverUnavailableError: the driver as a whole has gone.
        """
        self.handles.pop(index, None)
        subject = self._last_at.get(index, {}).get("uuid", f"gpu {index}")
        try:
            handle = self._ask(subject, pynvml.nvmlDeviceGetHandleByIndex, index)
            identity = self._identity(index, handle)
            facts = self._facts(identity["uuid"], handle)
        except _FailedError as failed:
            known = self._last_at.get(index) or _unknown()
            return {
                **known,
                "index": index,
                "presence": failed.presence.value,
                "detail": str(failed),
            }
        self.handles[index] = handle
        return {**identity, **facts, "index": index, "presence": Presence.PRESENT.value}

    def uuid_of(self, handle: Any) -> str:
        """Of a GPU that was read before, be it lost by now; empty if it was not."""
        return str(self._identities.get(_address(handle), _unknown())["uuid"])

    def _identity(self, index: int, handle: Any) -> Facts:
        key = _address(handle)
        if key not in self._identities:
            identity = self._ask_identity(f"gpu {index}", handle)
            if not all(identity.values()):
                return identity  # and asked again: a text was garbled
            self._identities[key] = identity
        self._last_at[index] = self._identities[key]
        return self._identities[key]

    def _ask_identity(self, subject: str, handle: Any) -> Facts:
        """What is not known of address and name is empty; without a UUID it is nobody."""
        return {
            "uuid": self._ask(subject, pynvml.nvmlDeviceGetUUID, handle),
            "pci_address": self._ask(subject, _pci_address, handle, optional=True) or "",
            "name": self._ask(subject, pynvml.nvmlDeviceGetName, handle, optional=True) or "",
        }

    def _facts(self, uuid: str, handle: Any) -> Facts:
        self._ask(uuid, pynvml.nvmlDeviceGetMemoryInfo, handle)
        fields = self._fields(uuid, handle)
        return {
            "recovery_action": fields[0],
            "remap_pending": None if fields[1] is None else bool(fields[1]),
            "remap_failure": None if fields[2] is None else bool(fields[2]),
            "uncorrectable_errors": self._ask(
                uuid,
                pynvml.nvmlDeviceGetTotalEccErrors,
                handle,
                pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                pynvml.NVML_VOLATILE_ECC,
                optional=True,
            ),
        }

    def _fields(self, uuid: str, handle: Any) -> list[int | None]:
        """Each field tells for itself whether it is known."""
        values = self._ask(
            uuid, pynvml.nvmlDeviceGetFieldValues, handle, list(_FIELDS), optional=True
        )
        if values is None:
            return [None for _ in _FIELDS]
        for value in values:
            if value.nvmlReturn in GPU_GONE:
                error = pynvml.NVMLError(value.nvmlReturn)
                raise _FailedError(Presence.LOST, explain("nvmlDeviceGetFieldValues", error))
        return [_number(value) if value.nvmlReturn == 0 else None for value in values]

    def _ask(
        self, subject: str, function: Callable[..., Any], *args: object, optional: bool = False
    ) -> Any:
        asked = ASKED.get(function, function.__name__)
        self._progress.note(f"{asked} of {subject}")
        try:
            return function(*args)
        except pynvml.NVMLError as error:
            words = explain(asked, error)
            if error.value in LIBRARY_GONE:
                raise DriverUnavailableError(words) from error
            if optional and error.value in _CANNOT_TELL:
                return None
            raise _FailedError(_presence(error.value), words) from error
        except UnicodeDecodeError as error:  # as after an error on its bus
            if optional:
                return None
            words = f"{asked}: the driver gave a text that is none: {error.object[:_SHOWN]!r}"
            raise _FailedError(Presence.UNREADABLE, words) from error


def _pci_address(handle: Any) -> str:
    return str(pynvml.nvmlDeviceGetPciInfo(handle).busId)


ASKED: Mapping[Callable[..., Any], str] = {_pci_address: "nvmlDeviceGetPciInfo"}
"""What is asked where the function's name does not say it."""


def _presence(code: int) -> Presence:
    if code in GPU_GONE:
        return Presence.LOST
    if code == pynvml.NVML_ERROR_RESET_REQUIRED:
        return Presence.RESET_REQUIRED
    return Presence.UNREADABLE


def _number(value: Any) -> int:
    wide = (pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG, pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG)
    return int(value.value.ullVal if value.valueType in wide else value.value.uiVal)


def _address(handle: Any) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value


def _unknown() -> Facts:
    return {"uuid": "", "pci_address": "", "name": ""}
