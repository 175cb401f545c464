"""The tables of settings in docs/, made from the dataclasses that the programs read.

``python -m tests.docs.settings_tables`` writes them where they belong; a test tells if they are
out of date.
"""

from __future__ import annotations

import dataclasses
import enum
import re
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.settings import ENVIRONMENT_PREFIX as CONTROLLER_PREFIX
from controller.settings import ControllerSettings
from nodeagent.settings import ENVIRONMENT_PREFIX as NODEAGENT_PREFIX
from nodeagent.settings import NodeAgentSettings
from tests.docs.pages import ROOT

HEAD = "| flag | variable | default | meaning |\n| --- | --- | --- | --- |\n"
PLACE = re.compile(r"(<!-- settings: .*?-->\n\n).*?(\n*<!-- end of settings -->)", re.DOTALL)

PAGES: Mapping[Path, tuple[type[Any], str]] = {
    ROOT / "docs/node-agent.md": (NodeAgentSettings, NODEAGENT_PREFIX),
    ROOT / "docs/controller.md": (ControllerSettings, CONTROLLER_PREFIX),
}


def table(settings: type[Any], prefix: str) -> str:
    """One row for each field of ``settings``."""
    hints = typing.get_type_hints(settings)
    rows = [_row(field, hints[field.name], prefix) for field in dataclasses.fields(settings)]
    return HEAD + "\n".join(rows)


def _row(field: dataclasses.Field[Any], hint: Any, prefix: str) -> str:
    flag = "--" + field.name.replace("_", "-")
    if hint is bool:
        flag += f"`, `--no-{flag[2:]}"
    default = field.default.value if isinstance(field.default, enum.Enum) else field.default
    shown = f"`{default}`" if str(default) else "none"
    meaning = field.metadata["help"]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        meaning += f" One of {', '.join(f'`{member.value}`' for member in hint)}."
    return f"| `{flag}` | `{prefix}{field.name.upper()}` | {shown} | {meaning} |"


def with_table(text: str, made: str) -> str:
    """A page with ``made`` in the place for it."""
    written, places = PLACE.subn(lambda place: place[1] + made + "\n" + place[2].lstrip(), text)
    if places != 1:
        raise ValueError(f"a page needs one place for its settings, this one has {places}")
    return written


if __name__ == "__main__":
    for path, (settings, prefix) in PAGES.items():
        path.write_text(with_table(path.read_text(), table(settings, prefix)))
        print(path.relative_to(ROOT))
