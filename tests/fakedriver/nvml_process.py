"""A process of its own that uses the real nvidia-ml-py, asked from the test line by line.

The library is chosen when a process starts, calls may hang or kill their process: so no
test loads it into its own.
"""

import json
import os
import select
import subprocess
import sys
import time
from types import TracebackType
from typing import Any, Self

from tests.fakedriver.driver import FakeDriver

_SERVER = """
import ctypes, json, sys
import pynvml as n
names = {"n": n}

def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, ctypes.Structure):
        return {f[0]: plain(getattr(value, f[0])) for f in value._fields_}
    if isinstance(value, n.nvmlFriendlyObject):
        return vars(value)
    if isinstance(value, ctypes.Union):
        return value.uiVal
    if isinstance(value, ctypes._Pointer):
        return ctypes.cast(value, ctypes.c_void_p).value
    if isinstance(value, ctypes._SimpleCData):
        return value.value
    if isinstance(value, (list, tuple, ctypes.Array)):
        return [plain(item) for item in value]
    return value

for line in sys.stdin:
    try:
        name, _, expression = json.loads(line).rpartition(" := ")
        value = eval(expression, names)
        if name:
            names[name] = value
            value = None
        answer = {"value": plain(value)}
    except Exception as error:
        answer = {"error": type(error).__name__}
    print(json.dumps(answer), flush=True)
"""


class NvmlProcess:
    """One process with `pynvml` as `n`, loaded from a FakeDriver; used in a `with` block."""

    def __init__(self, driver: FakeDriver) -> None:
        """Starts it; nothing is initialised yet."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            env=driver.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._heard = b""

    def __enter__(self) -> Self:
        """Initialises NVML, whatever comes of it."""
        self.ask("n.nvmlInit()")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.communicate()

    def ask(self, expression: str) -> Any:
        """The expression's value, or the name of the exception that it raises.

        `name := expression` keeps the value under that name and answers None.
        """
        self.begin(expression)
        return self.answer()

    def begin(self, expression: str) -> None:
        """Asks without waiting for the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(expression).encode() + b"\n")
        self.process.stdin.flush()

    def has_answered(self, within: float = 0.0) -> bool:
        """Whether an answer lies ready, or comes in that many seconds."""
        assert self.process.stdout is not None
        return bool(select.select([self.process.stdout], [], [], within)[0])

    def answer(self, timeout: float = 20.0) -> Any:
        """The answer to what was begun; TimeoutError, or EOFError if the process has ended."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + timeout
        while b"\n" not in self._heard:
            if not self.has_answered(max(0.0, deadline - time.monotonic())):
                raise TimeoutError(f"no answer in {timeout} s")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise EOFError("the process has ended")
            self._heard += more
        line, _, self._heard = self._heard.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply.get("error", reply.get("value"))
