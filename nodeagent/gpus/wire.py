"""What the agent and its child process say to each other: frames of a length and a JSON text.

The child's half: the agent decodes samples in `nodeagent.gpus.child`. Imported by the child
process: keep it light.
"""

from __future__ import annotations

import json
import struct
from typing import IO, Any

from nodeagent.gpus.sample import GpuSample

LENGTH = struct.Struct(">I")
"""What stands before each frame: how many bytes it has."""

LONGEST = 64 * 1024 * 1024
"""Bytes; a longer frame means that the two have lost step."""

SAMPLE = b"sample"
"""The one request there is: take a sample now."""


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next frame; None if the other end has closed, be it in the middle of one."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None


def frame(body: bytes) -> bytes:
    """``body`` as it goes over the pipe."""
    return LENGTH.pack(len(body)) + body


def encode(sample: GpuSample) -> bytes:
    """A sample as JSON: each value an object of its fields."""
    return json.dumps(sample, default=_fields, separators=(",", ":")).encode()


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
