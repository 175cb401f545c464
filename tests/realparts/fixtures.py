"""The real parts as pytest fixtures, each started once a session.

pytest loads this module for every test (pyproject.toml names it). Nothing here skips: where a
part cannot be had, the test fails and says what to install.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.realparts import parts
from tests.realparts.apiserver import Apiserver
from tests.realparts.containerd import Containerd
from tests.realparts.grpcurl import Grpcurl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["apiserver", "containerd", "grpcurl", "real_parts"]


@pytest.fixture(scope="session")
def real_parts() -> parts.Parts:
    """The programs, installed and built where they were missing."""
    if os.geteuid() != 0:
        pytest.fail("containerd and its containers need root: run the end-to-end tests as root")
    # A TERM (of `timeout`, of a CI) should end the children as Ctrl-C does.
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _interrupt)
    return parts.ensure()


@pytest.fixture(scope="session")
def apiserver(real_parts: parts.Parts) -> Iterator[Apiserver]:
    with Apiserver(real_parts) as server:
        yield server


@pytest.fixture(scope="session")
def containerd(real_parts: parts.Parts) -> Iterator[Containerd]:
    with Containerd(real_parts) as daemon:
        yield daemon


@pytest.fixture(scope="session")
def grpcurl(real_parts: parts.Parts) -> Grpcurl:
    return Grpcurl(real_parts.grpcurl)


def _interrupt(number: int, frame: FrameType | None) -> None:
    print("stopped by SIGTERM", file=sys.stderr)
    raise KeyboardInterrupt
