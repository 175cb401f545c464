"""Helm, and an API server that admits what a real cluster's would, once a session each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.manifests import helm as helm_part
from tests.manifests.admitting import AdmittingApiserver
from tests.manifests.helm import Helm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.realparts.parts import Parts


@pytest.fixture(scope="session")
def helm_program(real_parts: Parts) -> Path:
    """Helm, built if it is not there. `real_parts` says what is missing to build it."""
    return helm_part.ensure()


@pytest.fixture
def helm(helm_program: Path, tmp_path: Path) -> Helm:
    """Helm without a cluster."""
    return Helm(helm_program, tmp_path)


@pytest.fixture(scope="session")
def cluster(real_parts: Parts) -> Iterator[AdmittingApiserver]:
    with AdmittingApiserver(real_parts) as server:
        yield server


@pytest.fixture
def helm_there(helm_program: Path, tmp_path: Path, cluster: AdmittingApiserver) -> Helm:
    """Helm with the API server as its cluster."""
    return Helm(helm_program, tmp_path, cluster.kubeconfig)
