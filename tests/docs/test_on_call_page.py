"""docs/on-call.md has the words that the operator is given, and those alone."""

from __future__ import annotations

import pytest

from controller.eviction import evictor
from controller.eviction.decide import ALLOWED, EVICT, NEVER
from gpupods.cli.output.gpu_list import STYLES
from tests.docs.messages import covers, said_by, sources, texts
from tests.docs.pages import ROOT, page, rows

PAGE = page("docs/on-call.md")
COMMAND = sorted((ROOT / "gpupods/cli/gpu").glob("*.py"))
HINTS = ("kubectl ", "gpupods ", "--", "try again", "an operator", "it will when", "there is ")


def first_column(section: str) -> list[str]:
    cells = [row[0] for row in rows(PAGE.section(section))]
    return [told for cell in cells for told in cell.strip("`").split("`, `")]


def test_every_standing_is_told() -> None:
    words = {word for row in rows(PAGE.section("Look")) for word in row[0].split("`")}
    assert {*STYLES, "fit", "?"} <= words


@pytest.mark.parametrize("section", ["Take a GPU out of use", "Where the list and the Node differ"])
def test_what_it_says_is_what_the_code_says(section: str) -> None:
    real = [text for path in sources() for text in texts(path)]
    told = first_column(section)
    assert [each for each in told if not any(covers(each, text) for text in real)] == []


@pytest.mark.parametrize("path", COMMAND, ids=lambda path: path.name)
def test_every_refusal_of_a_word_is_told(path: object) -> None:
    told = first_column("Take a GPU out of use")
    said = said_by(path, ("CommandFailed", "NoAnswer"))  # type: ignore[arg-type]
    of_its_own = [text for text in said if text != "node \0: \0"]  # passes another's words on
    messages = [text for text in of_its_own if not text.lstrip("\0").startswith(HINTS)]
    assert [text for text in messages if not any(covers(each, text) for each in told)] == []


def test_every_event_of_an_eviction_is_told() -> None:
    told = first_column("Evict pods by themselves")
    assert told == [evictor.EVICTED, evictor.WAITS, evictor.STAYS]
    assert f"`{EVICT}: {NEVER}`" in PAGE.text
    assert f"`{EVICT}: {ALLOWED}`" in PAGE.text


def test_the_logs_of_an_eviction_that_it_names_are_logged() -> None:
    source = (ROOT / "controller/eviction/evictor.py").read_text()
    for event in ("eviction.halted", "eviction.agent_away"):
        assert f'"{event}"' in source
        assert f"`{event}`" in PAGE.text
