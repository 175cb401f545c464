"""Outputs that are kept as files, to be read by people when they change."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "golden" / "cli"
UPDATE = "GPUPODS_UPDATE_GOLDEN"


def check_golden(name: str, text: str) -> None:
    """Compare with tests/golden/cli/``name``; with GPUPODS_UPDATE_GOLDEN set, write it."""
    path = FOLDER / name
    if os.environ.get(UPDATE):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path} differs; {UPDATE}=1 rewrites it"
