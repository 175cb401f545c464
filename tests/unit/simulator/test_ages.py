from __future__ import annotations

import pytest

from simulator.apiserver.ages import age


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (-3, "0s"), (0, "0s"), (119.9, "119s"), (120, "2m"), (400, "6m40s"), (600, "10m"),
        (10_799, "179m"), (10_800, "3h"), (12_000, "3h20m"), (28_800, "8h"), (172_799, "47h"),
        (172_800, "2d"), (180_000, "2d2h"), (691_200, "8d"), (63_072_000, "2y"),
        (66_000_000, "2y33d"), (300_000_000, "9y"),
    ],
)  # fmt: skip
def test_ages_read_as_in_kubectl(seconds: float, written: str) -> None:
    assert age(seconds) == written
