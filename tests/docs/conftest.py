"""One simulated cluster for all pages; those that change it start their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docs.world import World


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A home with a kubeconfig where kubectl expects it, and the cluster that it names."""
    home = tmp_path_factory.mktemp("home")
    (home / ".kube").mkdir()
    with World(home).simulation("gpupods simulate --kubeconfig ~/.kube/config") as (inside, _):
        yield inside
