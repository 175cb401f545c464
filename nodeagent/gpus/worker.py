"""The child process that talks to the driver: ``python -m nodeagent.gpus.worker``.

Answers each request on stdin with a sample on stdout, and does nothing else: if the driver
holds one of its calls for ever, `nodeagent.gpus.driver` kills it and starts another. It ends
when the agent does, even while a call holds it. A sample that could not be taken at all is its
last: the next process loads the driver's library afresh.

Each module that is imported here costs memory on every GPU node: the standard library, pynvml
and this package's own light modules only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import IO

from nodeagent.gpus import wire
from nodeagent.gpus.nvml import NvmlSampler
from nodeagent.gpus.progress import Progress

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have the kernel kill this process when ``parent`` ends; end now if it has already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(0)


def take_stdout() -> IO[bytes]:
    """The pipe to the agent, and stderr in its place: a library that prints spoils no frame."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return replies


def give_back_memory() -> None:
    """Return what importing took and freed: more than half of this process, under glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def serve(requests: IO[bytes], replies: IO[bytes], sampler: NvmlSampler) -> None:
    """Answer until the agent closes the pipe, or the driver cannot be asked."""
    while (request := wire.read_frame(requests)) is not None:
        if request != wire.SAMPLE:
            raise ValueError(f"the agent asked {request[:80]!r}, which this process cannot do")
        sample = sampler.sample()
        replies.write(wire.frame(wire.encode(sample)))
        replies.flush()
        if sample.taken is None:
            return


def main() -> None:
    """Serve the agent: its process id, and the descriptor for `Progress`, are the arguments."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the agent's to act on
    parent, progress = map(int, sys.argv[1:])
    die_with(parent)
    give_back_memory()
    serve(sys.stdin.buffer, take_stdout(), NvmlSampler(Progress(progress)))


if __name__ == "__main__":
    main()
