"""What is to be said of what was found on a node. Pure: from facts to checks."""

from __future__ import annotations

from collections.abc import Sequence

from gpupods.diagnosis import Check, failed, ok, warning
from gpupods.identity import Pid
from nodeagent.diagnosis.layout import Driver, Layout, Version
from nodeagent.gpus.sample import DRIVER_LIBRARY, GpuSample, MissingKind

DRIVER = "driver"
GPUS = "GPUs"
HOST_PIDS = "host pids"
RUNTIME = "runtime socket"
CGROUPS = "cgroups"

SHOWN = 3
"""GPUs that are named one by one."""


def driver_check(sample: GpuSample, on_the_bus: int | None) -> Check:
    """Whether NVML is loaded and the driver answers.

    ``on_the_bus`` is how many NVIDIA GPUs the PCI bus shows, None if that is not known.
    """
    if sample.taken is not None:
        return ok(DRIVER, "NVML is loaded, and the driver answers")
    reason = _of_kind(sample, MissingKind.DRIVER)
    if DRIVER_LIBRARY in reason and on_the_bus == 0:
        return warning(
            DRIVER,
            f"{reason}; there is no NVIDIA GPU on the PCI bus either",
            "nothing, if this node has no GPU: its agent is of no use there, and does no harm",
        )
    if DRIVER_LIBRARY in reason:
        advice = (
            "install the driver, or have its library mounted into the agent's container: "
            "runtimeClassName nvidia with NVIDIA_VISIBLE_DEVICES=all"
        )
    else:
        advice = "see whether `nvidia-smi` works on the node, and `dmesg | grep -e NVRM -e Xid`"
    return failed(DRIVER, reason, advice)


def gpus_check(sample: GpuSample, on_the_bus: int | None) -> Check | None:
    """Whether every GPU answers; None where the driver does not."""
    if sample.taken is None:
        return None
    troubled = [each for each in sample.missing if each.kind is MissingKind.GPU]
    if troubled:
        more = f", and {len(troubled) - SHOWN} more" if len(troubled) > SHOWN else ""
        return failed(
            GPUS,
            "; ".join(f"{each.subject}: {each.reason}" for each in troubled[:SHOWN]) + more,
            "see `nvidia-smi -L` and `dmesg | grep Xid` on the node; take it out of service "
            "(kubectl cordon) if the GPU stays away",
        )
    count = len(sample.gpus)
    if on_the_bus is not None and on_the_bus > count:
        return warning(
            GPUS,
            f"the driver lists {count}, and the PCI bus has {on_the_bus}",
            "compare `lspci -d 10de:` with `nvidia-smi -L`; GPUs that are given to virtual "
            "machines (vfio) are rightly not listed",
        )
    if not count:
        return warning(GPUS, "the driver lists none", "compare `lspci -d 10de:` on the node")
    return ok(GPUS, f"{count} GPU{'s' if count > 1 else ''}, and all answer")


def host_pids_check(*, in_host_namespace: bool, seen: int, listed: int) -> Check:
    """Whether the pids that the driver lists are those that /proc knows.

    Args:
        in_host_namespace: Whether this is the node's first pid namespace.
        seen: How many of those that the driver lists exist here.
        listed: How many there are.
    """
    if in_host_namespace:
        return ok(HOST_PIDS, "the agent sees the node's own processes")
    if seen:
        return ok(HOST_PIDS, f"{seen} of the {listed} processes that the driver lists exist here")
    return failed(
        HOST_PIDS,
        "the agent is in a pid namespace of its own, and sees no process of the node",
        "set hostPID: true in the pod of the agent; without it every process is of no pod",
    )


def runtime_check(name: str, containers: int | None, problem: str) -> Check:
    """Whether the container runtime answers, and is the kubelet's.

    Args:
        name: The runtime, for people; empty if none is to be asked.
        containers: How many it has; None if it did not answer.
        problem: Why not.
    """
    if not name:
        return ok(RUNTIME, "none is to be asked: cgroups alone tell containers")
    if containers is None:
        return failed(
            RUNTIME,
            problem,
            "is containerd running on the node, is its socket mounted into the agent's container, "
            "and does --runtime-socket name it (k3s, RKE2 and MicroK8s have it elsewhere)?",
        )
    if not containers:
        return warning(
            RUNTIME,
            f"{name} answers, and has no containers of Kubernetes",
            "is the kubelet's runtime another one? --runtime-socket names its socket",
        )
    return ok(RUNTIME, f"{name} answers: {containers} containers")


def cgroups_check(layouts: Sequence[Layout], version: Version) -> Check:
    """How cgroups are laid out.

    Args:
        layouts: Of a process each, in containers of pods; none if none could be looked at.
        version: Of the node, by any process.
    """
    if not layouts:
        found = f"{version.value}; no process in a pod's container to tell the driver by"
        if version is Version.UNKNOWN:
            return warning(CGROUPS, found, "is /proc mounted in the agent's container?")
        return ok(CGROUPS, found)
    telling = [each for each in layouts if each.driver is not Driver.HIDDEN]
    layout = telling[0] if telling else layouts[0]
    found = f"{layout.version.value}, {layout.driver.value}"
    if not telling:
        return warning(
            CGROUPS,
            found,
            "set hostPID: true; where it is set, processes are looked for in the runtime, which "
            "takes longer",
        )
    if layout.driver is Driver.DISAGREEING:
        return warning(
            CGROUPS,
            found,
            "have both use one: SystemdCgroup = true in containerd's config.toml, or "
            "cgroupDriver: cgroupfs in the kubelet's configuration",
        )
    return ok(CGROUPS, found)


def _of_kind(sample: GpuSample, kind: MissingKind) -> str:
    reasons = [each.reason for each in sample.missing if each.kind is kind]
    return "; ".join(reasons) or "the driver has not answered"


def listed_pids(sample: GpuSample) -> set[Pid]:
    """The processes that the driver lists."""
    return {process.pid for gpu in sample.gpus for process in gpu.processes}
