"""A GPU gives a text that is no UTF-8, as after an error on its bus: that text alone is missing."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodeagent.gpus.sample import MissingKind
from tests.driverprocess import FIRST, SECOND, TWO_GPUS, Sampling, reason, sampling, uuids
from tests.fakedriver.scenario import Scenario

GARBLED = "\u00ff\u00fe"


def garble(driver: Sampling, **texts: Any) -> None:
    """Let the second GPU have ``texts``, in which the characters of GARBLED stand for bytes."""
    first, second = TWO_GPUS.gpus
    driver.fake.write(Scenario((first, replace(second, **texts))))
    scenario = driver.fake.scenario_path
    scenario.write_bytes(scenario.read_bytes().replace(GARBLED.encode(), GARBLED.encode("latin-1")))


@pytest.mark.parametrize(
    ("field", "asked"), [("name", "nvmlDeviceGetName"), ("pci", "nvmlDeviceGetPciInfo")]
)
async def test_its_processes_are_there_all_the_same(tmp_path: Path, field: str, asked: str) -> None:
    async with sampling(tmp_path) as driver:
        garble(driver, **{field: f"a{GARBLED}"})
        sample = await driver.sample()
        assert uuids(sample) == [FIRST, SECOND]
        assert [p.pid for gpu in sample.gpus for p in gpu.processes] == [4_000_101, 4_000_111]
        assert (sample.missing[0].kind, sample.missing[0].subject) == (MissingKind.GPU, SECOND)
        assert reason(sample) == f"{asked}: the driver gave a text that is none: b'a\\xff\\xfe'"


async def test_without_a_uuid_it_is_missing_and_its_neighbour_is_not(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        garble(driver, uuid=f"GPU-{GARBLED}")
        sample = await driver.sample()
        assert uuids(sample) == [FIRST]
        assert sample.missing[0].subject == "gpu 1"
        assert "nvmlDeviceGetUUID: the driver gave a text that is none" in reason(sample)
