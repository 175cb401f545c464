"""The join: (GPU samples, process -> container, container -> pod) -> rows. Pure, no I/O.

Every process that the driver lists comes out exactly once for each GPU (or MIG device) it is
on: under its pod, or apart with the reason why it has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpupods.identity import ContainerId
from nodeagent.containers.identity import Identification, IdentifiedProcess, Unattributed
from nodeagent.containers.runtime import RuntimeContainer
from nodeagent.gpus.sample import Gpu, GpuProcess, GpuSample


@dataclass(frozen=True, slots=True)
class Row:
    """One process on one GPU, with all that this node knows of it."""

    on_gpu: GpuProcess
    process: IdentifiedProcess
    container: RuntimeContainer | None
    """None if it is in no container, or the runtime told nothing of it."""
    pod: str
    """The pod's name; empty exactly when ``reason`` is set."""
    reason: Unattributed | None
    detail: str


@dataclass(frozen=True, slots=True)
class GpuRows:
    """One GPU and the processes on it, each list by (pid, MIG UUID)."""

    gpu: Gpu
    of_pods: tuple[Row, ...]
    of_no_pod: tuple[Row, ...]


def join(
    sample: GpuSample,
    identification: Identification,
    pods: Mapping[ContainerId, str] | None,
) -> tuple[GpuRows, ...]:
    """Give each process on each GPU its pod, or the reason why it has none.

    Args:
        sample: what the driver lists.
        identification: the container of every pid in ``sample``.
        pods: container -> pod name as the caller knows it. None: take the runtime's labels.

    Returns: one entry for each GPU of ``sample``, in its order.
    """
    return tuple(_join_gpu(gpu, identification, pods) for gpu in sample.gpus)


def _join_gpu(
    gpu: Gpu, identification: Identification, pods: Mapping[ContainerId, str] | None
) -> GpuRows:
    rows = [_row(process, identification, pods) for process in sorted(gpu.processes, key=_by_pid)]
    return GpuRows(
        gpu=gpu,
        of_pods=tuple(row for row in rows if row.reason is None),
        of_no_pod=tuple(row for row in rows if row.reason is not None),
    )


def _by_pid(process: GpuProcess) -> tuple[int, str]:
    return process.pid, process.mig.uuid if process.mig else ""


def _row(
    on_gpu: GpuProcess, identification: Identification, pods: Mapping[ContainerId, str] | None
) -> Row:
    process = identification.processes.get(on_gpu.pid) or _never_identified(on_gpu)
    if process.container is None:
        reason = process.reason or Unattributed.UNDETERMINED
        return Row(on_gpu, process, None, "", reason, process.detail)
    container = identification.containers.get(process.container)
    pod = _pod_name(process.container, container, pods)
    if pod:
        return Row(on_gpu, process, container, pod, None, "")
    detail = _unknown_container(process.container, container)
    return Row(on_gpu, process, container, "", Unattributed.UNKNOWN_CONTAINER, detail)


def _pod_name(
    container_id: ContainerId,
    container: RuntimeContainer | None,
    pods: Mapping[ContainerId, str] | None,
) -> str:
    if pods is not None:
        return pods.get(container_id, "")
    return container.pod if container else ""


def _never_identified(on_gpu: GpuProcess) -> IdentifiedProcess:
    detail = "nothing was found out about this process"
    return IdentifiedProcess(on_gpu.pid, "", None, None, Unattributed.UNDETERMINED, detail)


def _unknown_container(container_id: ContainerId, container: RuntimeContainer | None) -> str:
    if container is None or not container.pod:
        return f"container {container_id}, which has no pod's labels"
    pod = f"{container.namespace}/{container.pod}"
    return f"container {container_id}, labelled as {container.name} of pod {pod}"
