"""XIDs as NVML's events. Imported by the child process: keep it light."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pynvml

from nodeagent.gpus.nvml_errors import GPU_GONE, LIBRARY_GONE, DriverUnavailableError, explain
from nodeagent.gpus.progress import Progress

_UNSUPPORTED = frozenset({pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND})
_XID = pynvml.nvmlEventTypeXidCriticalError
_FIRST_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class XidEvent:
    """One event. ``uuid`` is empty where it names no GPU that can be told."""

    uuid: str
    xid: int


class Events:
    """The event set of those GPUs that send events; those that do not are none the worse for it.

    Args:
        progress: Where each call is noted before it is made.
        uuid_of: The UUID of an event's device, empty if it is no GPU that is known.
        sleep: Waits for so many seconds.

    Attributes:
        problem: Why events may be missed now; empty: they are not.
        shaken: The last wait told that a GPU has gone, or failed for the first time: read the
            GPUs now.
    """

    def __init__(
        self,
        progress: Progress,
        uuid_of: Callable[[Any], str],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._progress = progress
        self._uuid_of = uuid_of
        self._sleep = sleep
        self._set: Any = None
        self._registered: frozenset[int] | None = None
        """None: it must be made anew, at the next reading."""
        self._pause_s = _FIRST_PAUSE_S
        self.problem = ""
        self.shaken = False

    def listen_to(self, handles: Mapping[int, Any]) -> None:
        """Have events of these GPUs (index -> handle), and of no others."""
        if self._registered == frozenset(handles):
            return
        self.close()
        try:
            self._open(handles)
        except pynvml.NVMLError as error:
            self._failed("nvmlEventSetCreate", error)

    def wait(self, seconds: float) -> XidEvent | None:
        """The next XID; None when there is none for so long, or less: after an error, a pause.

        Raises:
            DriverUnavailableError: the driver as a whole has gone.
        """
        self.shaken = False
        if self._set is None:
            self._progress.note("sleeping")
            self._sleep(seconds)
            return None
        self._progress.note("nvmlEventSetWait_v2")
        try:
            # Rounded up: with 0 the caller would come again and again for what is left of 1 ms.
            event = pynvml.nvmlEventSetWait_v2(self._set, max(0, math.ceil(seconds * 1000)))
        except pynvml.NVMLError as error:
            if error.value == pynvml.NVML_ERROR_TIMEOUT:
                self._recovered()
                return None
            self._wait_failed(error, seconds)
            return None
        self._recovered()
        if not event.eventType & _XID:
            return None
        return XidEvent(self._uuid_of(event.device), int(event.eventData))

    def close(self) -> None:
        """Have no more events."""
        if self._set is not None:
            self._progress.note("nvmlEventSetFree")
            with suppress(pynvml.NVMLError):  # the library may have given it up already
                pynvml.nvmlEventSetFree(self._set)
            self._set = None
        self._registered = None

    def _open(self, handles: Mapping[int, Any]) -> None:
        self._progress.note("nvmlEventSetCreate")
        event_set = pynvml.nvmlEventSetCreate()
        self._registered = frozenset(handles)
        self.problem = ""
        listening = 0
        for index, handle in handles.items():
            self._progress.note(f"nvmlDeviceRegisterEvents of gpu {index}")
            try:
                if pynvml.nvmlDeviceGetSupportedEventTypes(handle) & _XID:
                    pynvml.nvmlDeviceRegisterEvents(handle, _XID, event_set)
                    listening += 1
            except pynvml.NVMLError as error:
                if error.value not in _UNSUPPORTED:
                    self._failed("nvmlDeviceRegisterEvents", error)
        if listening:
            self._set = event_set
            return
        pynvml.nvmlEventSetFree(event_set)

    def _wait_failed(self, error: pynvml.NVMLError, seconds: float) -> None:
        """It is no time-out: a pause comes before the next attempt, and longer each time."""
        if error.value in GPU_GONE:
            self.close()  # it would tell the same at once, and again
            self.shaken = True
            return
        self.shaken = not self.problem
        self._failed("nvmlEventSetWait_v2", error)
        self._sleep(min(self._pause_s, seconds))
        self._pause_s *= 2

    def _recovered(self) -> None:
        if self._registered is not None:
            self.problem, self._pause_s = "", _FIRST_PAUSE_S

    def _failed(self, function: str, error: pynvml.NVMLError) -> None:
        words = explain(function, error)
        if error.value in LIBRARY_GONE:
            raise DriverUnavailableError(words) from error
        self._registered = None
        self.problem = f"XIDs may go unseen by events: {words}"
