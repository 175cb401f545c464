"""What an operator hopes never to see, switched on and off."""

from __future__ import annotations

from simulator.kinds import DriverFault, RuntimeFault
from simulator.model import SimContainer, SimNode


def set_driver_fault(node: SimNode, fault: DriverFault) -> None:
    """Let the driver of ``node`` fail in this way, or be well again with NONE."""
    node.driver_fault = fault
    node.disturb()


def set_runtime_fault(node: SimNode, fault: RuntimeFault) -> None:
    """Let the runtime of ``node`` fail in this way, or be well again with NONE."""
    node.runtime_fault = fault


def set_gpu_lost(node: SimNode, gpu: int, *, lost: bool = True) -> None:
    """Let the GPU of index ``gpu`` fall off the bus, or come back."""
    node.gpus[gpu].lost = lost
    node.disturb()


def set_clock_ahead(node: SimNode, seconds: float) -> None:
    """Let the wall clock of ``node`` be so far ahead, or behind if negative."""
    node.clock_ahead_s = seconds


def set_host_pids(node: SimNode, *, host_pids: bool) -> None:
    """Let the agent of ``node`` run in the node's pid namespace, or in one of its own."""
    node.host_pids = host_pids


def stick_shim(container: SimContainer, *, stuck: bool = True) -> None:
    """Let the runtime hang whenever it is asked about ``container``."""
    container.shim_stuck = stuck
