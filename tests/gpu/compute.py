"""A process that computes on a GPU: ``python -m tests.gpu.compute ORDINAL MIB``.

Fills memory of the GPU over and over until its stdin closes. When it has begun it prints a
line of JSON: the UUID of the GPU (or MIG device) and how many bytes it has allocated.
Uses the driver's own libcuda.so.1 and nothing else.
"""

import ctypes
import json
import select
import sys
import uuid

MIB = 1024 * 1024
_FILLS_BETWEEN_LOOKS = 20


def check(function: str, result: int) -> None:
    """Raises RuntimeError unless the CUDA driver call has succeeded."""
    if result != 0:
        raise RuntimeError(f"{function} returned CUDA error {result}")


class Gpu:
    """One device with a context and an allocation of its own."""

    def __init__(self, ordinal: int, size: int) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._device = ctypes.c_int()
        self._memory = ctypes.c_uint64()
        self._size = ctypes.c_size_t(size)
        context = ctypes.c_void_p()
        self._call("cuInit", ctypes.c_uint(0))
        self._call("cuDeviceGet", ctypes.byref(self._device), ctypes.c_int(ordinal))
        self._call("cuCtxCreate_v2", ctypes.byref(context), ctypes.c_uint(0), self._device)
        self._call("cuMemAlloc_v2", ctypes.byref(self._memory), self._size)

    @property
    def uuid(self) -> str:
        """As CUDA gives it, without the prefix that NVML puts before it."""
        raw = (ctypes.c_ubyte * 16)()
        self._call("cuDeviceGetUuid_v2", raw, self._device)
        return str(uuid.UUID(bytes=bytes(raw)))

    def compute(self) -> None:
        """Keep the GPU busy for a moment."""
        for value in range(_FILLS_BETWEEN_LOOKS):
            self._call("cuMemsetD8_v2", self._memory, ctypes.c_ubyte(value), self._size)
        self._call("cuCtxSynchronize")

    def _call(self, function: str, *arguments: object) -> None:
        check(function, getattr(self._cuda, function)(*arguments))


def main() -> None:
    """Compute until told to stop."""
    ordinal, mebibytes = int(sys.argv[1]), int(sys.argv[2])
    gpu = Gpu(ordinal, mebibytes * MIB)
    gpu.compute()
    print(json.dumps({"uuid": gpu.uuid, "bytes": mebibytes * MIB}), flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        gpu.compute()


if __name__ == "__main__":
    main()
