"""Records of the kernel log, and the XIDs among them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent.health.sources.kernel_lines import Record, XidLine, read_record, read_xid


@pytest.mark.parametrize(
    ("raw", "record"),
    [
        (b"4,1234,5678901,-;NVRM: hello\n", Record(0, 1234, 5.678901, "NVRM: hello")),
        (b"12,7,1000000,-;by hand\n", Record(1, 7, 1.0, "by hand")),
        (b"30,1,0,c;systemd\n SUBSYSTEM=pci\n", Record(3, 1, 0.0, "systemd")),
        (b"6,2,5,-,caller=T1;a;b\n", Record(0, 2, 0.000005, "a;b")),
        (b"4,3,5,-;\xff\xfe\n", Record(0, 3, 0.000005, "\ufffd\ufffd")),
        (b" SUBSYSTEM=pci\n", None),
        (b"", None),
        (b"4,x,5,-;no number\n", None),
    ],
)
def test_a_record(raw: bytes, record: Record | None) -> None:
    assert read_record(raw) == record


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "NVRM: Xid (PCI:0000:c4:00): 79, pid=1234, name=python, GPU has fallen off the bus.",
            XidLine("0000:c4:00", 79, "pid=1234, name=python, GPU has fallen off the bus."),
        ),
        ("NVRM: Xid (PCI:0000:06:00): 31, Ch 0000000b", XidLine("0000:06:00", 31, "Ch 0000000b")),
        ("NVRM: Xid (0000:01:00): 13, 0005 00000000", XidLine("0000:01:00", 13, "0005 00000000")),
        ("NVRM: Xid (PCI:0009:01:00): 119,Timeout", XidLine("0009:01:00", 119, "Timeout")),
        ("NVRM: Xid (PCI:0000:06:00 GPU-I:05): 43, x", XidLine("0000:06:00", 43, "x")),
        ("NVRM: Xid (PCI:0000:06:00.0): 43", XidLine("0000:06:00.0", 43, "")),
        ("NVRM: Xid (PCI:0000:06:00): 45", XidLine("0000:06:00", 45, "")),
        ("NVRM: GPU at PCI:0000:06:00: GPU-1", None),
        ("NVRM: Xid (PCI:0000:06:00): , nothing", None),
        ("NVRM: Xid (PCI:zz): 79, x", None),
        ("NVRM: Xid (PCI:0000:06:00): 123456789, x", None),
        ("user says NVRM: Xid (PCI:0000:c4:00): 79, x", None),
        ("", None),
    ],
)
def test_a_line(text: str, line: XidLine | None) -> None:
    assert read_xid(text) == line


def test_a_long_line_is_shortened() -> None:
    line = read_xid("NVRM: Xid (PCI:0000:06:00): 13, " + "x" * 5000)
    assert line is not None
    assert len(line.detail) == 200


@given(st.binary())
def test_nothing_else_is_a_record_or_an_error(raw: bytes) -> None:
    record = read_record(raw)
    assert record is None or b"," in raw


@given(st.text())
def test_nothing_else_is_an_xid_or_an_error(text: str) -> None:
    assert read_xid(text) is None or "NVRM: Xid" in text
