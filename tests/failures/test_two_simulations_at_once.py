"""Two simulations begin at the same moment: both find the usual ports free, one gets them."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

GPUPODS = str(Path(sysconfig.get_path("scripts")) / "gpupods")
LIMIT_S = 240


def test_both_run() -> None:
    command = [GPUPODS, "simulate", "--once", "--nodes", "1", "--pods", "3", "--cpu-nodes", "0"]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for simulation in both:
        out, err = simulation.communicate(timeout=LIMIT_S)
        assert simulation.returncode == 0, out + err
        assert err == ""
