"""One sample of the node's GPUs, read through NVML: initialised once, and again when it must be.

Calls block, and one that hangs cannot be ended: this runs in a child process
(`nodeagent.gpus.worker`) that `nodeagent.gpus.driver` can kill. One GPU is read in
`nodeagent.gpus.nvml_gpu`. Imported by the child: keep it light.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pynvml

from nodeagent.gpus.nvml_errors import DriverUnavailableError, ask_driver
from nodeagent.gpus.nvml_gpu import GpuReader
from nodeagent.gpus.process_lists import ProcessLists
from nodeagent.gpus.progress import Progress
from nodeagent.gpus.sample import Gpu, GpuSample, Missing, MissingKind, Moment

_FIRST_PAUSE_S = 10.0
_LONGEST_PAUSE_S = 300.0


class Nvml:
    """The driver's library, from one initialisation to the next."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        progress.note("nvmlInit")
        ask_driver(pynvml.nvmlInit)
        try:
            version = str(ask_driver(pynvml.nvmlSystemGetDriverVersion))
        except DriverUnavailableError:
            version = ""
        self._gpus = GpuReader(ProcessLists(version), progress)

    def read(self) -> tuple[GpuSample, bool]:
        """A sample, and whether some GPU is gone, which only a new initialisation may mend.

        Raises:
            DriverUnavailableError: The library must be initialised again.
        """
        taken = _now()
        gpus: list[Gpu] = []
        missing: list[Missing] = []
        gone = False
        self._progress.note("nvmlDeviceGetCount")
        for index in range(ask_driver(pynvml.nvmlDeviceGetCount)):
            reading = self._gpus.read(index)
            gpus += [] if reading.gpu is None else [reading.gpu]
            missing += reading.missing
            gone = gone or reading.gone
        if not gpus and not missing:
            missing.append(_no_gpus())
            gone = True
        return GpuSample(taken, tuple(gpus), tuple(missing)), gone

    def close(self) -> None:
        """Give the library back, if it still takes it."""
        self._progress.note("nvmlShutdown")
        try:
            pynvml.nvmlShutdown()
        except pynvml.NVMLError:
            return  # it has given itself up already


class NvmlSampler:
    """Takes samples, and initialises NVML whenever one needs it.

    A GPU that has fallen off the bus is looked for again at the next sample, then ever more
    rarely: an initialisation can take seconds, and most lost GPUs stay lost.
    """

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress
        self._clock = clock
        self._nvml: Nvml | None = None
        self._look_again_at: float | None = None
        self._pause_s = 0.0

    def sample(self) -> GpuSample:
        """Ask the driver now. The sample's ``taken`` is None if it cannot be asked at all."""
        if self._look_again_at is not None and self._clock() >= self._look_again_at:
            self.close()
        was_open = self._nvml is not None
        try:
            return self._read()
        except DriverUnavailableError as error:
            self.close()
            if not was_open:
                return unavailable(str(error))
        try:
            return self._read()
        except DriverUnavailableError as error:
            self.close()
            return unavailable(str(error))

    def close(self) -> None:
        """Shut NVML down; the next sample initialises it again."""
        self._look_again_at = None
        if self._nvml is not None:
            self._nvml.close()
            self._nvml = None

    def _read(self) -> GpuSample:
        if self._nvml is None:
            self._nvml = Nvml(self._progress)
        sample, gone = self._nvml.read()
        if not gone:
            self._look_again_at, self._pause_s = None, 0.0
        elif self._look_again_at is None:
            self._look_again_at = self._clock() + self._pause_s
            self._pause_s = min(max(_FIRST_PAUSE_S, 2 * self._pause_s), _LONGEST_PAUSE_S)
        return sample


def unavailable(reason: str) -> GpuSample:
    """A sample of a driver that cannot be asked."""
    return GpuSample(None, (), (Missing(MissingKind.DRIVER, "", reason),))


def _now() -> Moment:
    return Moment(wall=time.time(), boot=time.clock_gettime(time.CLOCK_BOOTTIME))


def _no_gpus() -> Missing:
    return Missing(
        MissingKind.DRIVER,
        "",
        "the driver answers and lists no GPU; compare `lspci | grep -i nvidia` with "
        "`nvidia-smi -L` on the node",
    )
