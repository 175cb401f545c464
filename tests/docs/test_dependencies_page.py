"""docs/decisions/0002 has each dependency, and no other."""

from __future__ import annotations

import re
import tomllib

from tests.docs.pages import ROOT, page, rows

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PAGE = page("docs/decisions/0002-dependencies.md")


def names(requirements: list[str]) -> list[str]:
    return sorted(re.split(r"[<>=!~ ]", requirement)[0] for requirement in requirements)


def told(section: str) -> list[str]:
    return sorted(
        each for row in rows(PAGE.section(section)) for each in re.findall("`(.+?)`", row[0])
    )


def test_those_to_run() -> None:
    assert told("To run") == names(PROJECT["project"]["dependencies"])


def test_those_to_build_and_to_develop() -> None:
    build = set(names(PROJECT["build-system"]["requires"]))
    developed = names(PROJECT["dependency-groups"]["dev"])
    assert set(told("To build")) | {"googleapis-common-protos"} == build
    assert told("To develop") == [each for each in developed if each not in build]


def test_each_has_its_reason() -> None:
    for section in ("To run", "To build", "To develop"):
        for row in rows(PAGE.section(section)):
            assert len(row[1]) > len("Messages."), row
