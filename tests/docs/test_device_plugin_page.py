"""docs/device-plugin.md has the words that a refused pod is given, and units that fit."""

from __future__ import annotations

import pytest

from gpupods.accounting.names import GPU_MEMORY
from gpupods.identity import GpuUuid
from nodeagent.deviceplugin.offer import Card, TooManyError, encode, offer
from nodeagent.deviceplugin.terms import DevicePluginMode, HealthReport, Terms
from tests.docs.messages import covers, said_by, texts
from tests.docs.pages import ROOT, page, rows

PAGE = page("docs/device-plugin.md")
PLUGIN = ROOT / "nodeagent" / "deviceplugin"
SECTIONS = ("When a pod is refused", "When nothing is registered")
TOLD = [row[0].strip("`") for section in SECTIONS for row in rows(PAGE.section(section))]
ERRORS = ("failed_precondition", "not_found", "_unknown_pod", "KubeletAwayError", "TooManyError")
UNITS = list(rows(PAGE.section("The unit of memory")))


def test_there_are_messages() -> None:
    assert len(TOLD) > 10


@pytest.mark.parametrize("told", TOLD)
def test_every_message_that_is_told_is_one_of_the_code_s(told: str) -> None:
    real = [text for path in PLUGIN.glob("*.py") for text in texts(path)]
    assert any(covers(told, text) for text in real)


@pytest.mark.parametrize("path", sorted(PLUGIN.glob("*.py")), ids=lambda path: path.stem)
def test_every_refusal_is_told(path: object) -> None:
    said = said_by(path, ERRORS)  # type: ignore[arg-type]
    assert [text for text in said if not any(covers(told, text) for told in TOLD)] == []


@pytest.mark.parametrize(("gpus", "devices", "unit"), UNITS)
def test_the_units_of_the_table_fit(gpus: str, devices: str, unit: str) -> None:
    count, of, gib, _ = gpus.split()
    assert of == "of"
    cards = [Card(n, GpuUuid(f"GPU-{n}"), int(gib) * 1024) for n in range(int(count))]
    assert int(devices.replace(",", "")) == int(count) * int(gib) * 1024
    fits = Terms(DevicePluginMode.SHARE, HealthReport.AUTO, int(unit))
    assert encode(offer(GPU_MEMORY, cards, fits), fits)
    if int(unit) > 1:
        plain = Terms(DevicePluginMode.SHARE, HealthReport.AUTO, 1)
        with pytest.raises(TooManyError, match=f"memory-unit to {unit} or more"):
            encode(offer(GPU_MEMORY, cards, plain), plain)
