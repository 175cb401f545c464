"""No link within the documentation is dead, and what it names is there."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT, Page, page, pages

PLACES = re.compile(
    r"(?<![\w/.~:-])((?:gpupods|nodeagent|controller|simulator|tests|docs|protos|requirements)"
    r"/[\w./-]*\w)"
)


@pytest.mark.parametrize("each", pages(), ids=str)
def test_links_lead_somewhere(each: Page) -> None:
    for link in each.links():
        if link.startswith("https://"):
            continue
        target, _, anchor = link.partition("#")
        path = (each.path.parent / target).resolve() if target else each.path
        assert path.exists(), link
        assert path.is_relative_to(ROOT), link
        if anchor:
            assert anchor in Page(path).anchors(), link


@pytest.mark.parametrize("each", pages(), ids=str)
def test_files_that_are_named_exist(each: Page) -> None:
    for place in PLACES.findall(each.text):
        assert list(ROOT.glob(f"{place}*")), place


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached = {page("README.md").path}
    waiting = list(reached)
    while waiting:
        each = Page(waiting.pop())
        links = {link.partition("#")[0] for link in each.links() if not link.startswith("https://")}
        found = {(each.path.parent / link).resolve() for link in links if link.endswith(".md")}
        waiting += found - reached
        reached |= found
    assert {each.path for each in pages()} <= reached


def test_decisions_are_numbered_listed_and_of_one_form() -> None:
    folder = ROOT / "docs" / "decisions"
    decisions = sorted(folder.glob("[0-9]*.md"))
    assert [int(path.name[:4]) for path in decisions] == list(range(1, len(decisions) + 1))
    index = (folder / "README.md").read_text()
    for path in decisions:
        text = path.read_text()
        title = text.partition("\n")[0].removeprefix(f"# {path.name[:4]} ")
        assert f"| [{path.name[:4]}]({path.name}) | {title} |" in index
        assert "**Decision.**" in text
        assert "**What it costs.**" in text
