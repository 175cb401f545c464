"""`FakeDriver`: a folder with a scenario for the fake NVML library, and its call counts.

One FakeDriver is one node's driver. Any number of processes may load the library with its
`environment()`; they all follow what is written here, at once. It starts none of them.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.fakedriver import call_log
from tests.fakedriver.build import Variant, build
from tests.fakedriver.call_log import CallCount
from tests.fakedriver.faults import Event, Fault
from tests.fakedriver.scenario import Scenario
from tests.fakedriver.scenario_format import render

SCENARIO_VARIABLE = "GPUPODS_FAKE_NVML_SCENARIO"
CALLS_VARIABLE = "GPUPODS_FAKE_NVML_CALLS"
_EVENTS_KEPT = 1000


class FakeDriver:
    """Puts scenarios before the library and reads back how it was called.

    Attributes:
        library_dir: The folder with libnvidia-ml.so.1, for LD_LIBRARY_PATH.
        scenario_path: The scenario file; replaced as a whole by each write.
        calls_path: The file of the call counts.
    """

    def __init__(
        self,
        directory: Path,
        scenario: Scenario | None = None,
        *,
        variant: Variant = Variant.CURRENT,
    ) -> None:
        """Builds the library if need be, and writes the scenario (none: no GPUs)."""
        directory.mkdir(parents=True, exist_ok=True)
        self.library_dir = build(variant)
        self.scenario_path = directory / "scenario"
        self.calls_path = directory / "calls"
        self.calls_path.write_bytes(bytes(call_log.SIZE))
        self._lock = threading.RLock()
        self._events: list[tuple[int, Event]] = []
        self._slots: dict[Fault, int] = {}
        self._next_slot = 0
        self._modified_ns = time.time_ns()
        self.write(scenario or Scenario())

    @property
    def scenario(self) -> Scenario:
        """The scenario written last."""
        return self._scenario

    def write(self, scenario: Scenario) -> None:
        """Makes this the scenario: every call that begins from now on follows it.

        Calls that hang or wait see it within milliseconds. A fault with `times` that was in
        the scenario before goes on counting; one that is new, or comes back, counts afresh.
        """
        with self._lock:
            self._scenario = scenario
            limited = {fault for fault in scenario.faults if fault.times is not None}
            self._slots = {fault: slot for fault, slot in self._slots.items() if fault in limited}
            for fault in scenario.faults:
                if fault.times is not None and fault not in self._slots:
                    self._slots[fault] = self._take_slot()
            self._replace_file(render(scenario, self._events, self._slots))

    def change(self, change: Callable[[Scenario], Scenario]) -> None:
        """Writes the present scenario as changed by a function of it."""
        with self._lock:
            self.write(change(self._scenario))

    def post(self, *events: Event) -> None:
        """Delivers events to every event set that listens for them now."""
        with self._lock:
            newest = self._events[-1][0] if self._events else 0
            self._events += enumerate(events, start=newest + 1)
            del self._events[:-_EVENTS_KEPT]
            self.write(self._scenario)

    def environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """`base` (by default this process's environment) with what loads the fake library."""
        environment = dict(os.environ if base is None else base)
        paths = [str(self.library_dir), environment.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, paths))
        environment[SCENARIO_VARIABLE] = str(self.scenario_path)
        environment[CALLS_VARIABLE] = str(self.calls_path)
        return environment

    def calls(self) -> dict[str, CallCount]:
        """Function name -> counts, over all processes since this driver was made."""
        return call_log.read_calls(self.calls_path)

    def count(self, function: str) -> CallCount:
        """The counts of one function; zeros if it was never called."""
        return self.calls().get(function, CallCount())

    def wait_until(self, condition: Callable[["FakeDriver"], bool], timeout: float = 10.0) -> None:
        """Returns when the condition of this driver's counts holds.

        Raises:
            TimeoutError: It does not hold after `timeout` seconds; names the calls so far.
        """
        deadline = time.monotonic() + timeout
        while not condition(self):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not so after {timeout} s; the calls were {self.calls()}")
            time.sleep(0.005)

    def wait_until_hanging(self, function: str, timeout: float = 10.0) -> None:
        """Returns when a call of that function has been entered and not left."""
        self.wait_until(lambda driver: driver.count(function).in_progress > 0, timeout)

    def _take_slot(self) -> int:
        if self._next_slot == call_log.FAULT_SLOTS:
            raise RuntimeError(f"one FakeDriver has room for {call_log.FAULT_SLOTS} limited faults")
        self._next_slot += 1
        return self._next_slot - 1

    def _replace_file(self, text: str) -> None:
        """By rename, and with a time of its own: two quick writes never look the same."""
        draft = self.scenario_path.with_name("scenario.draft")
        draft.write_text(text)
        self._modified_ns = max(self._modified_ns + 1000, time.time_ns())
        os.utime(draft, ns=(self._modified_ns, self._modified_ns))
        draft.rename(self.scenario_path)
