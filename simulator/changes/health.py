"""What makes a simulated GPU unfit, and what makes it well again."""

from __future__ import annotations

from dataclasses import replace

from simulator import names
from simulator.kinds import DriverFault
from simulator.model import Cluster, SimGpu, SimNode, SimXid


def report_xid(cluster: Cluster, node: SimNode, gpu: int, xid: int) -> None:
    """Let the driver report ``xid`` of the GPU of index ``gpu``, now."""
    address = _gpu(node, gpu).pci_address.lower().removesuffix(".0")
    node.kernel_log.append(SimXid(cluster.now(), address, xid))
    node.disturb()


def fail_row_remap(node: SimNode, gpu: int) -> None:
    """Let a bad memory row of the GPU of index ``gpu`` have no spare left."""
    _gpu(node, gpu).remap_failure = True
    node.disturb()


def ask_for_recovery(node: SimNode, gpu: int, action: int) -> None:
    """Let the driver ask for this recovery action; 0 for none."""
    _gpu(node, gpu).recovery_action = action
    node.disturb()


def raise_uncorrectable_errors(node: SimNode, gpu: int, errors: int = 1) -> None:
    """Let the GPU of index ``gpu`` count so many more uncorrectable memory errors."""
    _gpu(node, gpu).uncorrectable_errors += errors
    node.disturb()


def reset_gpu(node: SimNode, gpu: int) -> None:
    """Reset the GPU of index ``gpu``. One that is lost, or out of spare rows, stays so."""
    one = _gpu(node, gpu)
    one.resets += 1
    one.recovery_action = 0
    one.uncorrectable_errors = 0
    node.disturb()


def replace_board(cluster: Cluster, node: SimNode, gpu: int) -> None:
    """Put another board in the place of the GPU of index ``gpu``; what ran on it has ended."""
    old = _gpu(node, gpu)
    for process in node.processes.values():
        process.uses = [use for use in process.uses if use.gpu != old.uuid]
    node.gpus[gpu] = replace(_well(old), uuid=names.gpu_uuid(cluster.random))
    node.disturb()


def recover(cluster: Cluster, node: SimNode, gpu: int) -> None:
    """Make the GPU of index ``gpu`` well, as far as a restart of the machine does.

    The boot id is a new one, and the kernel log is empty; what runs on the node goes on.
    """
    failed = _gpu(node, gpu).remap_failure
    node.gpus[gpu] = replace(_well(node.gpus[gpu]), remap_failure=failed)
    node.driver_fault = DriverFault.NONE
    node.boot_id = names.object_uid(cluster.random)
    node.kernel_log.clear()
    node.disturb()


def _gpu(node: SimNode, index: int) -> SimGpu:
    if not 0 <= index < len(node.gpus):
        raise ValueError(f"{node.name} has {len(node.gpus)} GPUs, and none of index {index}")
    return node.gpus[index]


def _well(gpu: SimGpu) -> SimGpu:
    return replace(
        gpu,
        lost=False,
        recovery_action=0,
        remap_failure=False,
        remap_pending=False,
        uncorrectable_errors=0,
    )
