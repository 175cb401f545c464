"""The parts that the end-to-end tests share. What of Kubernetes they run on: tests/realparts."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from tests.e2e.programs import Programs
from tests.e2e.scene import Scene
from tests.e2e.world import World
from tests.realparts.apiserver import Apiserver
from tests.realparts.containerd import Containerd
from tests.realparts.parts import Parts


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    with Programs() as started:
        yield started


@pytest.fixture(scope="session")
def standing(
    real_parts: Parts, apiserver: Apiserver, containerd: Containerd, programs: Programs
) -> Iterator[World]:
    """A world that stays as it is: for tests that break nothing, and clear their scene."""
    with World(real_parts, apiserver, containerd, programs) as world:
        yield world.start()


@pytest.fixture
def scene(standing: World) -> Iterator[Scene]:
    """An empty scene in the standing world."""
    with Scene(standing.node, standing.apiserver, standing.containerd, standing.driver) as scene:
        standing.scene = scene
        yield scene


@pytest.fixture
def world(
    real_parts: Parts, apiserver: Apiserver, containerd: Containerd, programs: Programs
) -> Iterator[World]:
    """A world to break things in. Nothing of it has been started yet."""
    with World(real_parts, apiserver, containerd, programs) as world:
        yield world


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a test that has failed what our servers have logged meanwhile."""
    report = yield
    worlds = [item.funcargs.get(name) for name in ("world", "standing")]  # type: ignore[attr-defined]
    if report.when == "call" and report.failed:
        for world in filter(None, worlds):
            report.sections += [(f"log of {name}", tail) for name, tail in world.logs()]
    return report
