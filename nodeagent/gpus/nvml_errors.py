"""What an NVML error means to whoever runs the node, and which errors end what.

The words stand here and nowhere else. Imported by the child process: keep it light.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import pynvml

P = ParamSpec("P")
R = TypeVar("R")

LIBRARY_GONE = frozenset(
    {
        pynvml.NVML_ERROR_UNINITIALIZED,
        pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
        pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
    }
)
"""Errors after which no call can succeed before NVML is initialised again."""

GPU_GONE = frozenset({pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_GPU_NOT_FOUND})
"""Errors after which nothing more can be learnt of that GPU before NVML is initialised again."""

_NAMES: dict[int, str] = {
    code: name for name, code in vars(pynvml).items() if name.startswith("NVML_ERROR_")
}

_MEANINGS: dict[int, str] = {
    pynvml.NVML_ERROR_UNINITIALIZED: (
        "the driver's library is not initialised; it is initialised again at the next sample"
    ),
    pynvml.NVML_ERROR_NOT_SUPPORTED: "this GPU or its driver does not offer it",
    pynvml.NVML_ERROR_NO_PERMISSION: (
        "the node agent may not ask for it; run it as root and, for MIG, with "
        "NVIDIA_MIG_MONITOR_DEVICES=all"
    ),
    pynvml.NVML_ERROR_INSUFFICIENT_SIZE: (
        "the list grew each time it was fetched; the next sample may succeed"
    ),
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: (
        "the library is there and the kernel module is not; try `lsmod | grep nvidia` and "
        "`modprobe nvidia` on the node"
    ),
    pynvml.NVML_ERROR_TIMEOUT: "the driver gave up waiting for the GPU; see `dmesg | grep NVRM`",
    pynvml.NVML_ERROR_IRQ_ISSUE: "the GPU's interrupts do not arrive; see `dmesg | grep NVRM`",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: (
        "libnvidia-ml.so.1 cannot be loaded: this node has no NVIDIA driver, or the driver's "
        "files are not mounted into this container (runtimeClassName nvidia with "
        "NVIDIA_DRIVER_CAPABILITIES=utility, or a mount named in LD_LIBRARY_PATH)"
    ),
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: (
        "this driver is too old to have it; drivers from 450 on have what is needed"
    ),
    pynvml.NVML_ERROR_CORRUPTED_INFOROM: "the GPU's infoROM is damaged; the board needs a service",
    pynvml.NVML_ERROR_GPU_IS_LOST: (
        "the GPU has fallen off the bus, or cannot be reached; look for Xid 79 in "
        "`dmesg | grep Xid`, and restart the node if it stays away"
    ),
    pynvml.NVML_ERROR_RESET_REQUIRED: (
        "the GPU must be reset before it answers: `nvidia-smi --gpu-reset`, with no process on it"
    ),
    pynvml.NVML_ERROR_OPERATING_SYSTEM: (
        "the kernel refused it; the container needs the /dev/nvidia* devices"
    ),
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
        "the library and the loaded kernel module are of different versions, as after an "
        "upgrade of the driver; restart the node, or load the new module"
    ),
    pynvml.NVML_ERROR_GPU_NOT_FOUND: (
        "the driver sees no GPU; compare `lspci | grep -i nvidia` with `nvidia-smi -L` on the node"
    ),
    pynvml.NVML_ERROR_UNKNOWN: "the driver met an inner error; see `dmesg | grep NVRM`",
}


def explain(function: str, error: pynvml.NVMLError) -> str:
    """A sentence of what was asked, what came back, and what that means."""
    code = int(error.value)
    name = _NAMES.get(code, f"NVML error {code}")
    meaning = _MEANINGS.get(code)
    return f"{function}: {name} ({error})" + (f": {meaning}" if meaning else "")


class DriverUnavailableError(Exception):
    """The driver as a whole does not answer; the message says why and what to try."""


def ask_driver(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of pynvml without whose answer there is no sample.

    Raises:
        DriverUnavailableError: It has failed, whatever the error.
    """
    try:
        return function(*args, **kwargs)
    except pynvml.NVMLError as error:
        raise DriverUnavailableError(explain(function.__name__, error)) from error
