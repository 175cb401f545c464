"""Every setting and every option is documented, as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from gpupods.cli.get import get
from gpupods.cli.simulate import simulate
from tests.docs.pages import page, rows
from tests.docs.settings_tables import PAGES, table, with_table


@pytest.mark.parametrize(
    ("path", "settings", "prefix"), [(path, *made) for path, made in PAGES.items()]
)
def test_a_services_table_is_what_its_settings_are(
    path: Path, settings: type[Any], prefix: str
) -> None:
    text = path.read_text()
    hint = "run python -m tests.docs.settings_tables"
    assert with_table(text, table(settings, prefix)) == text, hint


def options(command: click.Command) -> dict[str, click.Option]:
    """By their long names; --help is every command's."""
    return {
        each.opts[-1]: each
        for each in command.params
        if isinstance(each, click.Option) and each.opts[-1] != "--help"
    }


def test_every_option_of_get_is_told() -> None:
    told = page("docs/cli.md").text
    for name, option in options(get).items():
        assert (
            name in told
            or f"gpupods get train-0 {option.opts[0]} " in told
            or any(f" {short} " in told for short in option.opts)
        ), name


def test_the_options_of_simulate_are_those_of_its_table() -> None:
    told = {
        flag.strip("`"): default
        for flag, default, _ in rows(page("docs/simulator.md").section("Options"))
    }
    real = options(simulate)
    assert list(told) == list(real)
    for flag, default in told.items():
        if isinstance(real[flag].default, int) and not real[flag].is_flag:
            assert default == str(real[flag].default), flag
