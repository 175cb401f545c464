"""The machine's own kernel log, written to by a test that may: as a process, not the driver."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nodeagent.health.memory import LogMark
from nodeagent.health.sources.kernel_log import KernelLog

KMSG = Path("/dev/kmsg")


def _usable() -> bool:
    try:
        for flags in (os.O_RDONLY, os.O_WRONLY):
            os.close(os.open(KMSG, flags | os.O_NONBLOCK))
    except OSError:
        return False
    return True


needs_kmsg = pytest.mark.skipif(not _usable(), reason="/dev/kmsg cannot be read and written here")


def write_line(text: str) -> None:
    """One record, a warning."""
    KMSG.write_text(f"<4>{text}\n")


def write_xid(pci_address: str, xid: int, rest: str = "GPU has fallen off the bus.") -> None:
    """As the driver writes it."""
    write_line(f"NVRM: Xid (PCI:{pci_address}): {xid}, pid='<unknown>', name=<unknown>, {rest}")


def kernel_log(
    *,
    path: str | os.PathLike[str] = KMSG,
    any_facility: bool = True,
    heard: Callable[[], LogMark] = LogMark,
    note: Callable[[int], None] = lambda _: None,
    boot_id: str = "this boot",
    again_s: float = 30.0,
) -> KernelLog:
    return KernelLog(path, heard, note, lambda: boot_id, any_facility=any_facility, again_s=again_s)


def newest_record() -> int:
    """The sequence number of the log's last record."""
    file = os.open(KMSG, os.O_RDONLY | os.O_NONBLOCK)
    newest = 0
    try:
        while True:
            try:
                newest = int(os.read(file, 8192).split(b",")[1])
            except BrokenPipeError:
                continue
    except BlockingIOError:
        return newest
    finally:
        os.close(file)
