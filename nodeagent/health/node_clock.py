"""The clocks of the machine that the agent runs on."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

from nodeagent.health.condition import Now

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def node_now() -> Now:
    """This moment on this machine's clocks."""
    return Now(_boot_id(), time.clock_gettime(time.CLOCK_BOOTTIME), time.time())


@cache
def _boot_id() -> str:
    """It cannot change while a process lives."""
    return _BOOT_ID.read_text().strip()
