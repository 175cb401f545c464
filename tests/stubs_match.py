"""Makes the stubs of protos/ afresh and compares them with those in use: `make lint` runs it."""

from __future__ import annotations

import filecmp
import sys
import tempfile
from pathlib import Path

from build_stubs import ROOT, make_stubs


def stale_stubs() -> list[str]:
    """The stubs that differ from what protos/ gives now, missing and left-over ones too."""
    with tempfile.TemporaryDirectory() as fresh:
        make_stubs(ROOT, Path(fresh))
        made = {path.relative_to(fresh) for path in Path(fresh).rglob("*_pb2*.py*")}
        in_use = {
            path.relative_to(ROOT)
            for package in ("gpupods", "nodeagent", "controller")
            for path in (ROOT / package).rglob("*_pb2*.py*")
            if "__pycache__" not in path.parts
        }
        _, differing, unreadable = filecmp.cmpfiles(
            fresh, ROOT, [str(path) for path in made & in_use], shallow=False
        )
    return sorted([*map(str, made ^ in_use), *differing, *unreadable])


if __name__ == "__main__":
    stale = stale_stubs()
    if stale:
        sys.exit(f"stubs do not match protos/, run `make stubs`: {', '.join(stale)}")
    print("stubs match protos/")
