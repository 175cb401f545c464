"""The nodes that the suites of containers run on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.container_nodes import ContainerNode
from tests.contract.real_containers import real_node
from tests.contract.simulated_containers import SimulatedNode, served_node


@pytest.fixture(params=["simulated", "served", pytest.param("containerd", marks=pytest.mark.e2e)])
async def container_node(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[ContainerNode]:
    """A simulated node, one behind containerd's API, and a real containerd."""
    if request.param == "simulated":
        yield SimulatedNode()
    elif request.param == "served":
        async with served_node(tmp_path) as served:
            yield served
    else:
        async with real_node(request.getfixturevalue("containerd")) as real:
            yield real
