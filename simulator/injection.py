"""What `gpupods simulate inject` does to a node: checked as a whole, then done, then told."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from gpupods.identity import NodeName
from simulator import changes
from simulator.kinds import DriverFault
from simulator.model import Cluster, SimGpu, SimNode, SimPod

NAMES_SHOWN = 5
HIGHEST_XID = 100_000
HIGHEST_ACTION = 7


class InjectionError(ValueError):
    """It cannot be done, and nothing was; in one line."""


class Injection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to happen to GPUs of one node.

    Attributes:
        node: Its name.
        gpus: Indexes; empty is all of the node's.
        xids: The driver reports these.
        lost: They fall off the bus.
        hang: The driver of the node hangs, whichever GPUs are named.
        remap_failure: A bad memory row has no spare left.
        recovery_action: The driver asks for this, as NVML counts; None: nothing is changed.
        uncorrectable: So many more uncorrectable memory errors are counted.
        reset: They are reset.
        replace_board: Another board is in their place.
        recover: The node is restarted, and they are well after it.
    """

    node: str
    gpus: tuple[int, ...] = ()
    xids: tuple[int, ...] = ()
    lost: bool = False
    hang: bool = False
    remap_failure: bool = False
    recovery_action: int | None = None
    uncorrectable: int = 0
    reset: bool = False
    replace_board: bool = False
    recover: bool = False

    @property
    def faults(self) -> bool:
        """Whether it makes something worse."""
        asks = self.recovery_action is not None
        wrong = self.lost or self.hang or self.remap_failure or self.uncorrectable > 0
        return bool(self.xids) or wrong or asks

    @property
    def of_one_gpu(self) -> bool:
        """Whether something of it happens to a GPU alone, and not to its whole node."""
        return msgspec.structs.replace(self, node="", gpus=(), hang=False, recover=False) != NOTHING

    @property
    def remedies(self) -> int:
        """How many remedies there are in it."""
        return self.reset + self.replace_board + self.recover


NOTHING = Injection("")


def inject(cluster: Cluster, wanted: Injection) -> list[str]:
    """Do it.

    Returns: what was done, a line for each thing.

    Raises:
        InjectionError: there is no such node or GPU, or nothing to be done.
    """
    _check(wanted)
    node = _node(cluster, wanted.node)
    gpus = [_gpu(node, index) for index in sorted(set(wanted.gpus))] or node.gpus
    if not gpus:
        raise InjectionError(f"{node.name} has no GPU")
    if wanted.recover:
        return _recover(cluster, node, gpus)
    done = [line for gpu in gpus for line in _on_gpu(cluster, node, gpu, wanted)]
    if wanted.hang:
        changes.set_driver_fault(node, DriverFault.HANGS)
        done.append(f"the driver of {node.name} hangs, for all of its {len(node.gpus)} GPUs")
    return done


def _check(wanted: Injection) -> None:
    if not wanted.faults and not wanted.remedies:
        raise InjectionError("nothing is to happen: name a fault or a remedy")
    if wanted.remedies > 1 or (wanted.remedies and wanted.faults):
        raise InjectionError("a remedy stands alone: --recover, --reset or --replace-board")
    if wanted.uncorrectable < 0:
        raise InjectionError(f"{wanted.uncorrectable} memory errors: write a number above 0")
    for xid in wanted.xids:
        if not 0 < xid <= HIGHEST_XID:
            raise InjectionError(f"{xid} is no XID: write a number above 0")
    if wanted.recovery_action is not None and not 0 <= wanted.recovery_action <= HIGHEST_ACTION:
        raise InjectionError(f"{wanted.recovery_action} is no recovery action: write 0 to 7")


def _node(cluster: Cluster, name: str) -> SimNode:
    node = cluster.nodes.get(NodeName(name))
    if node is not None:
        return node
    with_gpus = [known.name for known in cluster.nodes.values() if known.gpus]
    near = difflib.get_close_matches(name, with_gpus, NAMES_SHOWN) or with_gpus[:NAMES_SHOWN]
    more = ", ..." if len(near) < len(with_gpus) else ""
    there = f"nodes with GPUs: {', '.join(near)}{more}" if near else "no node has a GPU"
    raise InjectionError(f"there is no node {name!r} in the simulated cluster; {there}")


def _gpu(node: SimNode, index: int) -> SimGpu:
    if 0 <= index < len(node.gpus):
        return node.gpus[index]
    has = f"GPUs 0 to {len(node.gpus) - 1}" if node.gpus else "no GPU"
    raise InjectionError(f"there is no GPU {index} on {node.name}: it has {has}")


def _on_gpu(cluster: Cluster, node: SimNode, gpu: SimGpu, wanted: Injection) -> list[str]:
    index, pods = gpu.index, pods_on(node, gpu)
    told = []
    for what, change in _steps(cluster, node, index, wanted):
        change()
        told.append(what)
    if not told:
        return []
    names = ", ".join(str(pod.ref) for pod in pods) or "none"
    hurt = [f"  pods on it: {names}"] if wanted.faults else []
    return [f"{name_of(node, gpu)}: {'; '.join(told)}", *hurt]


def _steps(
    cluster: Cluster, node: SimNode, index: int, wanted: Injection
) -> Iterable[tuple[str, Callable[[], object]]]:
    """What is done to one GPU, in words and as something to call."""
    for xid in wanted.xids:
        yield f"XID {xid} reported", partial(changes.report_xid, cluster, node, index, xid)
    if wanted.lost:
        yield "fallen off the bus", partial(changes.set_gpu_lost, node, index)
    if wanted.remap_failure:
        yield "no spare memory row is left", partial(changes.fail_row_remap, node, index)
    action = wanted.recovery_action
    if action is not None:
        asked = f"the driver asks for recovery action {action}"
        yield asked, partial(changes.ask_for_recovery, node, index, action)
    if wanted.uncorrectable:
        more = f"{wanted.uncorrectable} more uncorrectable memory errors"
        raised = changes.raise_uncorrectable_errors
        yield more, partial(raised, node, index, wanted.uncorrectable)
    if wanted.reset:
        yield "reset", partial(changes.reset_gpu, node, index)
    if wanted.replace_board:
        told = "another board is in its place, with another UUID"
        yield told, partial(changes.replace_board, cluster, node, index)


def _recover(cluster: Cluster, node: SimNode, gpus: list[SimGpu]) -> list[str]:
    done = [f"{node.name} restarted: another boot id, an empty kernel log, a driver that answers"]
    for gpu in list(gpus):
        changes.recover(cluster, node, gpu.index)
        stays = "; a row-remap failure stays: --replace-board" if gpu.remap_failure else ""
        done.append(f"{name_of(node, gpu)}: well, as far as a restart makes it{stays}")
    return done


def name_of(node: SimNode, gpu: SimGpu) -> str:
    """A GPU as people find it again."""
    return f"{node.name} GPU {gpu.index} ({gpu.name}, {gpu.uuid}, {gpu.pci_address})"


def pods_on(node: SimNode, gpu: SimGpu) -> list[SimPod]:
    """The pods with a process on ``gpu``, by name."""
    pods = {
        process.container.pod.uid: process.container.pod
        for process in node.processes.values()
        if process.container is not None
        and process.container.pod is not None
        and any(use.gpu == gpu.uuid for use in process.uses)
    }
    return sorted(pods.values(), key=lambda pod: pod.ref)
