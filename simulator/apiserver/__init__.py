"""The Kubernetes API of a simulated cluster, on loopback: what kubectl and informers need of it."""

from simulator.apiserver.server import SimulatedApiServer

__all__ = ["SimulatedApiServer"]
