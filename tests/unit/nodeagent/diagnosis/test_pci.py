from __future__ import annotations

from pathlib import Path

from nodeagent.diagnosis.pci import PciBus


def device(root: Path, address: str, vendor: str, kind: str) -> None:
    folder = root / address
    folder.mkdir()
    (folder / "vendor").write_text(f"{vendor}\n")
    (folder / "class").write_text(f"{kind}\n")


def test_nvidia_gpus_are_counted_and_nothing_else(tmp_path: Path) -> None:
    device(tmp_path, "0000:07:00.0", "0x10de", "0x030200")  # a 3D controller
    device(tmp_path, "0000:0f:00.0", "0x10de", "0x030000")  # a display controller
    device(tmp_path, "0000:c4:00.0", "0x10de", "0x068000")  # an NVSwitch
    device(tmp_path, "0000:0f:00.1", "0x10de", "0x040300")  # the card's sound
    device(tmp_path, "0000:03:00.0", "0x1a03", "0x030000")  # the board's own screen
    (tmp_path / "0000:ff:00.0").mkdir()
    assert PciBus(tmp_path).nvidia_gpus() == 2


def test_an_empty_bus_has_none(tmp_path: Path) -> None:
    assert PciBus(tmp_path).nvidia_gpus() == 0


def test_where_there_is_no_bus_nothing_is_known(tmp_path: Path) -> None:
    assert PciBus(tmp_path / "absent").nvidia_gpus() is None
