"""The server that the client and the command ask in these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.gpupods.answers import busy_node
from tests.unit.gpupods.controller_double import ControllerDouble


@pytest.fixture
def controller() -> Iterator[ControllerDouble]:
    """A controller that answers with a busy node until it is told otherwise."""
    with ControllerDouble(lambda _: busy_node()) as double:
        yield double
