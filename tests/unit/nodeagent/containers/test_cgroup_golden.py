"""What is read from cgroup files as real machines have them, one folder for each shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nodeagent.containers.cgroup import CgroupReading, read_cgroup

GOLDEN = Path(__file__).parents[3] / "golden" / "proc"
SHAPES = sorted(folder.name for folder in GOLDEN.iterdir())


def as_written(reading: CgroupReading) -> dict[str, Any]:
    likeliest = reading.likeliest
    return {
        "candidates": [candidate.id for candidate in reading.candidates],
        "container": likeliest.id if likeliest else None,
        "runtime": likeliest.runtime if likeliest else "",
        "pod_uid": reading.pod_uid,
        "host": reading.is_host,
    }


@pytest.mark.parametrize("shape", SHAPES)
def test_shape(shape: str) -> None:
    reading = read_cgroup((GOLDEN / shape / "cgroup").read_text())
    assert as_written(reading) == json.loads((GOLDEN / shape / "expected.json").read_text())


def test_every_shape_is_a_different_one() -> None:
    texts = [(GOLDEN / shape / "cgroup").read_text() for shape in SHAPES]
    # Where nothing but the root is seen, host and private namespace look alike.
    alike = {"0::/\n"}
    assert len([text for text in texts if text not in alike]) == len(set(texts) - alike)


def test_unreadable_tells_nothing() -> None:
    assert read_cgroup(None) == read_cgroup("") == CgroupReading(path="")


def test_path_for_people_is_the_one_that_tells() -> None:
    reading = read_cgroup((GOLDEN / "host-v1-session" / "cgroup").read_text())
    assert reading.path == "/user.slice/user-1000.slice"
