"""Which build of a pinned program is taken from the cache."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.realparts import gobuild

pytestmark = pytest.mark.e2e

_PROGRAM = gobuild.Program("tool", "example.test/tool", "example.test/tool", ("main.v={version}",))


@pytest.fixture
def go_mod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The go.mod of a module that pins example.test/tool v1.2.3."""
    monkeypatch.setattr(gobuild, "_MODULES", tmp_path)
    module = tmp_path / "tool"
    module.mkdir()
    (module / "go.sum").write_text("")
    pinned = module / "go.mod"
    pinned.write_text("module m\n\nrequire (\n\texample.test/tool v1.2.3 // indirect\n)\n")
    return pinned


def test_the_key_changes_with_the_pin_and_only_with_it(go_mod: Path) -> None:
    go = shutil.which("go")
    assert go is not None
    first = gobuild._key(_PROGRAM, go)
    assert gobuild._key(_PROGRAM, go) == first
    go_mod.write_text(go_mod.read_text().replace("v1.2.3", "v1.2.4"))
    assert gobuild._key(_PROGRAM, go) != first


def test_the_program_is_told_its_version(go_mod: Path) -> None:
    assert gobuild._linker_settings(_PROGRAM) == ["main.v=v1.2.3"]


def test_a_module_without_the_pin_is_an_error(go_mod: Path) -> None:
    go_mod.write_text("module m\n")
    with pytest.raises(gobuild.BuildError, match=r"pins no version of example\.test/tool"):
        gobuild._linker_settings(_PROGRAM)


def test_a_build_that_fails_shows_the_compiler(
    go_mod: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUPODS_PARTS_DIR", str(tmp_path / "cache"))
    with pytest.raises(gobuild.BuildError, match=r"(?s)go build example\.test/tool failed:.*\S"):
        gobuild.ensure(_PROGRAM)
    assert not [kept for kept in (tmp_path / "cache").iterdir() if kept.suffix != ".lock"]
