"""docs/troubleshooting.md has the words that users are given, and all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.docs.messages import covers, said_by, sources, texts
from tests.docs.pages import ROOT, Page, page, rows

PAGE = page("docs/troubleshooting.md")
STATUSES = (
    *("invalid_argument", "not_found", "failed_precondition", "unavailable"),
    *("deadline_exceeded", "StatusError", "abort"),
)
SERVICES = (
    *("controller/resolve.py", "controller/ask.py", "controller/service.py"),
    "controller/gpus/choosing.py",
    *("nodeagent/pod_map.py", "nodeagent/service.py", "gpupods/serving.py"),
)


def messages_told(page: Page) -> list[str]:
    """The messages in the first columns of its tables of messages."""
    other = ("A process has no pod", "The answer surprises")
    prose = page.prose
    for heading in other:
        prose = prose.replace(page.section(heading), "")
    cells = [row[0] for row in rows(prose)]
    return [told for cell in cells for told in cell.strip("`").split("`, `")]


TOLD = messages_told(PAGE)


def test_there_are_messages() -> None:
    assert len(TOLD) > 60


def test_every_message_that_is_told_is_one_of_the_codes() -> None:
    real = [text for path in sources() for text in texts(path)]
    assert [told for told in TOLD if not any(covers(told, text) for text in real)] == []


def untold(messages: Iterator[str]) -> list[str]:
    return [text for text in messages if not any(covers(told, text) for told in TOLD)]


@pytest.mark.parametrize("module", SERVICES)
def test_every_error_of_a_call_is_told(module: str) -> None:
    assert untold(said_by(ROOT / module, STATUSES)) == []


def test_every_way_in_which_a_port_forward_fails_is_told() -> None:
    path = ROOT / "gpupods/cli/controller_pod.py"
    hints = ("does `", "name a controller", "is it installed", "kubectl describe", "--", "a port-f")
    messages = said_by(path, ("CommandFailed", "NoAnswer"))
    assert untold(text for text in messages if not text.startswith(hints)) == []


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_reason_for_a_missing_part_is_told(path: Path) -> None:
    assert untold(said_by(path, ("Missing",))) == []


@pytest.mark.parametrize("kind", pb.MissingKind.DESCRIPTOR.values[1:], ids=lambda kind: kind.name)
def test_each_kind_of_missing_part_has_its_table(kind: object) -> None:
    assert list(rows(PAGE.section(f"`{kind.name}`")))  # type: ignore[attr-defined]


def test_each_reason_for_a_process_without_pod_is_told() -> None:
    told = [row[0].strip("`") for row in rows(PAGE.section("A process has no pod"))]
    assert told == [value.name for value in pb.UnattributedReason.DESCRIPTOR.values[1:]]
