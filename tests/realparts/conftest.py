"""The fixtures for the tests of the harness itself."""

from tests.realparts.fixtures import apiserver, containerd, grpcurl, real_parts

__all__ = ["apiserver", "containerd", "grpcurl", "real_parts"]
