"""docs/scheduling.md has the words and paths of the code, and its library does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.cache.cluster import ClusterCache
from controller.extender.binding import Binder
from controller.extender.leadership import LeaderPod, Leadership
from controller.extender.service import Extender
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from tests.docs.messages import covers, said_by, sources, texts
from tests.docs.pages import ROOT, page, rows

PAGE = page("docs/scheduling.md")
SECTION = PAGE.section("kube-scheduler")


def told() -> list[str]:
    """The reasons and messages of its tables; those of the configuration's lines are another's."""
    tables = SECTION[SECTION.index("| reason |") :]
    cells = [row[0] for row in rows(tables)]
    return [word for cell in cells for word in cell.strip("`").split("`, `")]


TOLD = told()
REFUSALS = "gpupods/accounting/refusal.py", ("Refusal",)
BINDING = "controller/extender/binding.py", ("NotBoundError",)
SERVICE = "controller/extender/service.py", ("_not_bound",)
DECIDE = "controller/extender/decide.py"


def test_there_are_messages() -> None:
    assert len(TOLD) > 15


@pytest.mark.parametrize(
    "where", [REFUSALS, BINDING, SERVICE], ids=lambda where: Path(where[0]).stem
)
def test_every_reason_is_told(where: tuple[str, tuple[str, ...]]) -> None:
    file, calls = where
    said = said_by(ROOT / file, calls)
    assert [text for text in said if not any(covers(each, text) for each in TOLD)] == []


def test_every_reason_that_is_told_is_one_of_the_codes() -> None:
    real = [text for path in sources() for text in texts(path)]
    assert [each for each in TOLD if not any(covers(each, text) for text in real)] == []


def test_the_paths() -> None:
    api = KubeApi(KubeAccess.without_credentials("http://127.0.0.1:9"))
    leadership = Leadership(None, 0.0)
    cache = ClusterCache()
    binder = Binder(cache, api, leadership, str, 1.0)
    extender = Extender(cache, binder, leadership, LeaderPod(api, "", 0))
    listed = [row[0] for row in rows(PAGE.section("What is served"))]
    paths = {path.strip("`") for cell in listed for path in cell.split(", ") if "/" in path}
    assert paths == set(extender.posts())


def test_the_library(tmp_path: Path) -> None:
    (code,) = [block.text for block in PAGE.blocks() if block.language == "python"]
    assert "assert state.place" in code
    exec(compile(code, str(tmp_path / "example.py"), "exec"), {})  # noqa: S102
