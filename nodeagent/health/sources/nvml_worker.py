"""The child process that watches GPUs: ``python -m nodeagent.health.sources.nvml_worker``.

Tells on stdout, as frames of JSON, what all GPUs answer at each interval, and each XID when it
comes. It is asked nothing: that it is silent for too long is how the agent knows that a call of
the driver holds it. It ends when the agent does, and when the driver cannot be asked: the next
process loads the driver's library afresh.

Imports the standard library, pynvml and light modules only.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import IO, Any

import pynvml

from nodeagent.gpus import wire
from nodeagent.gpus.nvml_errors import DriverUnavailableError, ask_driver
from nodeagent.gpus.progress import Progress
from nodeagent.gpus.worker import die_with, give_back_memory, take_stdout
from nodeagent.health.observations import Presence
from nodeagent.health.sources.nvml_events import Events
from nodeagent.health.sources.nvml_facts import FactReader, Facts

_SETTLE_S = 0.05
"""From an XID to the next reading: what is wrong shows in the GPU's answers by then."""
_FIRST_PAUSE_S = 10.0
_LONGEST_PAUSE_S = 60.0


class Watch:
    """Reads and waits in turn, for ever.

    A GPU that is away can only be found again by a new initialisation: that is tried ever more
    rarely, as it can take seconds. ``expected`` is how many GPUs this node is known to have.
    """

    def __init__(
        self, replies: IO[bytes], progress: Progress, interval_s: float, expected: int
    ) -> None:
        self._replies = replies
        self._progress = progress
        self._interval_s = interval_s
        self._expected = expected
        self._pause_s = _FIRST_PAUSE_S
        self._initialised_at = 0.0
        self._told_problem = ""

    def run(self) -> None:
        """Until the driver cannot be asked."""
        try:
            while True:
                self._initialise()
                self._until_it_must_be_initialised_again()
        except DriverUnavailableError as error:
            self._tell(unavailable=str(error), not_loaded=_is_not_loaded(error))

    def _initialise(self) -> None:
        self._progress.note("nvmlInit")
        ask_driver(pynvml.nvmlInit)
        self._initialised_at = time.monotonic()
        self._facts = FactReader(self._progress)
        self._events = Events(self._progress, self._facts.uuid_of)

    def _until_it_must_be_initialised_again(self) -> None:
        due = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= due:
                gone = self._read()
                due = now + self._interval_s
                if gone and now - self._initialised_at >= self._pause_s:
                    self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
                    break
                if not gone:
                    self._pause_s = _FIRST_PAUSE_S
                self._events.listen_to(self._facts.handles)
            if self._wait(due - time.monotonic()):
                due = min(due, time.monotonic() + _SETTLE_S)
        self._events.close()
        self._progress.note("nvmlShutdown")
        ask_driver(pynvml.nvmlShutdown)

    def _read(self) -> bool:
        """Tell what all GPUs answer. Whether one is away."""
        self._progress.note("nvmlDeviceGetCount")
        count = ask_driver(pynvml.nvmlDeviceGetCount)
        gpus: list[Facts] = [self._facts.read(index) for index in range(count)]
        self._tell(gpus=gpus)
        self._expected = max(self._expected, count)
        away = (Presence.LOST.value, Presence.MISSING.value)
        return count < self._expected or any(gpu["presence"] in away for gpu in gpus)

    def _wait(self, seconds: float) -> bool:
        """Whether something happened that the GPUs should be read for at once."""
        event = self._events.wait(max(0.0, seconds))
        if event is not None:
            self._tell(xid=event.xid, uuid=event.uuid)
        if self._events.problem != self._told_problem:
            self._told_problem = self._events.problem
            self._tell(problem=self._told_problem)
        return event is not None or self._events.shaken

    def _tell(self, **message: Any) -> None:
        body = json.dumps(message, separators=(",", ":")).encode()
        self._replies.write(wire.frame(body))
        self._replies.flush()


def _is_not_loaded(error: DriverUnavailableError) -> bool:
    cause = error.__cause__
    return (
        isinstance(cause, pynvml.NVMLError) and cause.value == pynvml.NVML_ERROR_DRIVER_NOT_LOADED
    )


def main() -> None:
    """Arguments: the agent's process id, a descriptor for `Progress`, seconds, GPUs expected."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the agent's to act on
    parent, progress, interval_s, expected = sys.argv[1:]
    die_with(int(parent))
    give_back_memory()
    Watch(take_stdout(), Progress(int(progress)), float(interval_s), int(expected)).run()


if __name__ == "__main__":
    main()
