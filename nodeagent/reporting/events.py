"""What Kubernetes' events say when a GPU stands otherwise than before. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpupods.identity import PodRef
from gpupods.kube.events import NORMAL, WARNING, Json, Teller, about_node, about_pod, event
from gpupods.node_annotations import UnfitGpu, UnfitStanding
from nodeagent.pods_on_gpus import PodOnGpu

COMPONENT = "gpupods-nodeagent"


@dataclass(frozen=True, slots=True)
class GpuChange:
    """One GPU stands otherwise on the Node than before.

    Attributes:
        before: How it stood; None: it was fit.
        after: How it stands; None: it is fit.
    """

    before: UnfitGpu | None
    after: UnfitGpu | None

    @property
    def gpu(self) -> UnfitGpu:
        """The one that it is about."""
        gpu = self.after or self.before
        if gpu is None:
            raise ValueError("nothing has changed")
        return gpu

    @property
    def reason(self) -> str:
        """For machines, as events have it."""
        return "GpuFit" if self.after is None else f"Gpu{self.after.standing.value.capitalize()}"

    @property
    def kind(self) -> str:
        """Only what is bad news for somebody is a warning."""
        bad = self.after is not None and self.after.standing is UnfitStanding.UNFIT
        return WARNING if bad else NORMAL


def changes_between(before: Iterable[UnfitGpu], after: Iterable[UnfitGpu]) -> tuple[GpuChange, ...]:
    """The GPUs that stand otherwise, by index; a new wording or time is no change."""
    old = {(gpu.index, gpu.uuid): gpu for gpu in before}
    new = {(gpu.index, gpu.uuid): gpu for gpu in after}
    return tuple(
        GpuChange(old.get(key), new.get(key))
        for key in sorted(old.keys() | new.keys())
        if _essence(old.get(key)) != _essence(new.get(key))
    )


def _essence(gpu: UnfitGpu | None) -> object:
    if gpu is None:
        return None
    what = gpu.reason.partition(":")[0]  # the XID or the condition
    return gpu.standing, what, gpu.xid, gpu.who


def node_event(change: GpuChange, node_name: str, node_uid: str, now: float) -> Json:
    """For whoever describes the Node: what is wrong, and what to do about it."""
    told = _told(change, "", change.gpu.reason)
    if change.kind == WARNING and change.gpu.action:
        told += f". What to do: {change.gpu.action}"
    return _event(change, about_node(node_name, node_uid), told, node_name, now)


def pod_event(change: GpuChange, pod: PodOnGpu, node_name: str, now: float) -> Json:
    """For whoever describes a pod that was on the GPU at that time: what it means for the pod.

    What the driver said to the letter, and what to do about the GPU, is for those who run the node.
    """
    reason, warns = change.gpu.reason, change.kind == WARNING
    told = _told(
        change,
        f" of {node_name}, on which this pod has a process,",
        reason.partition(" (")[0] if warns else reason,
    )
    if warns:
        told += ". The pod stays on it until it ends or is deleted"
    about = about_pod(PodRef(pod.namespace, pod.name), pod.uid)
    return _event(change, about, told, node_name, now)


def _event(change: GpuChange, about: Json, message: str, node_name: str, now: float) -> Json:
    teller = Teller(COMPONENT, node_name)
    return event(about, teller, kind=change.kind, reason=change.reason, message=message, now=now)


def _told(change: GpuChange, whose: str, reason: str) -> str:
    gpu = change.gpu
    name = f"GPU {gpu.index} ({gpu.uuid or gpu.pci_address}){whose}"
    if change.after is None:
        return f"{name} is fit again"
    if gpu.standing is UnfitStanding.EXCLUDED:
        until = f" until {gpu.until.isoformat()}" if gpu.until is not None else ""
        return f"{name} is given to nobody{until}: {reason}"
    if gpu.standing is UnfitStanding.RECOVERING:
        return f"{name} answers again, and is given to nobody until it has stayed so: {reason}"
    return f"{name} is unfit to be given to anybody: {reason}"
