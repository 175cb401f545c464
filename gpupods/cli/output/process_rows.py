"""One process as the cells of one row, and the row that accounts for the rest of the memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpupods.cli.output.columns import Column, Row
from gpupods.cli.output.terminal_text import shown
from gpupods.cli.output.units import UNKNOWN, memory, moment
from gpupods.client.answer import (
    GpuPodsAnswer,
    GpuProcess,
    GpuState,
    PodProcess,
    UnattributedProcess,
    UnattributedReason,
)

NONE = "-"
MARK = "*"
ASKED_FOR = "bold"
QUIET = "dim"
SHORT_ID = 12

REASONS: Mapping[UnattributedReason, str] = {
    UnattributedReason.UNKNOWN: "no pod, no reason given",
    UnattributedReason.HOST_PROCESS: "host process",
    UnattributedReason.OTHER_RUNTIME: "container of another runtime",
    UnattributedReason.UNKNOWN_CONTAINER: "container of no known pod",
    UnattributedReason.PROCESS_EXITED: "process has exited",
    UnattributedReason.PID_REUSED: "pid reused by another process",
    UnattributedReason.UNDETERMINED: "could not be found out",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one table, and the names by which their cells are made."""

    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """As they are laid out."""
        return tuple(
            Column("" if name == "MARK" else name, right=name in {"PID", "MEMORY"})
            for name in self.names
        )


def columns_for(answer: GpuPodsAnswer, *, wide: bool, marked: bool) -> Columns:
    """The columns that this answer needs; MIG's only where a process runs on a MIG device."""
    processes = [process for gpu in answer.gpus for process in gpu.processes]
    mig = any(process.mig is not None for process in processes)
    names = ["MARK"] if marked else []
    names += ["PID", "PROCESS", "MEMORY", "POD", "CONTAINER", "OWNER", "TYPE"]
    names += ["MIG"] if mig else []
    if wide:
        names += ["STARTED", "CONTAINER ID", "POD UID"]
        names += ["MIG UUID"] if mig else []
        names += ["DETAIL"] if any(_detail(process) for process in processes) else []
    return Columns(tuple(names))


def row_for(process: GpuProcess, names: tuple[str, ...], *, asked_for: bool) -> Row:
    """The row of one process."""
    cells = tuple(
        MARK * asked_for if name == "MARK" else shown(CELLS[name](process)) for name in names
    )
    if isinstance(process, UnattributedProcess):
        return Row(cells, QUIET)
    return Row(cells, ASKED_FOR if asked_for else "")


def other_memory_row(gpu: GpuState, names: tuple[str, ...], *, narrowed: bool) -> Row | None:
    """What is in use beyond the memory of the rows above; None if there is nothing to say."""
    other = gpu.memory_other_mib
    if not other or not gpu.processes:
        return None  # without rows there is nothing to reconcile: the GPU's title has it all
    unknown = any(process.memory_mib is None for process in gpu.processes)
    amounts = {"PROCESS": "other", "MEMORY": memory(other)}
    if other < 0:
        amounts = {"PROCESS": "", "MEMORY": ""}
    cells = tuple(amounts.get(name, "") for name in names[: names.index("MEMORY") + 1])
    return Row(cells, QUIET, _explain(other, unknown=unknown, narrowed=narrowed))


def _explain(other_mib: int, *, unknown: bool, narrowed: bool) -> str:
    if other_mib < 0:
        return f"the processes account for {memory(-other_mib)} more than is in use"
    if narrowed and unknown:
        return "in use by other pods (not listed), processes marked ? or the driver"
    if narrowed:
        return "in use by other pods (not listed) or the driver"
    if unknown:
        return "in use by processes marked ? or the driver"
    return "in use, of no process listed"


def _pod(process: GpuProcess) -> str:
    if isinstance(process, PodProcess):
        return f"{process.namespace or UNKNOWN}/{process.pod}"
    assert isinstance(process, UnattributedProcess)  # noqa: S101 - there are only these two
    return f"({REASONS[process.reason]})"


def _container(process: GpuProcess) -> str:
    if process.container_name is not None:
        return process.container_name
    if process.container_id is not None:
        return process.container_id[:SHORT_ID]
    return UNKNOWN if isinstance(process, PodProcess) else NONE


def _types(process: GpuProcess) -> str:
    return "+".join(kind.value for kind in process.types) or UNKNOWN


def _mig(process: GpuProcess) -> str:
    if process.mig is None:
        return NONE
    return f"GI {process.mig.gpu_instance_id} CI {process.mig.compute_instance_id}"


def _detail(process: GpuProcess) -> str:
    return process.detail if isinstance(process, UnattributedProcess) else ""


CELLS: Mapping[str, Callable[[GpuProcess], str]] = {
    "PID": lambda process: str(process.pid),
    "PROCESS": lambda process: process.name or UNKNOWN,
    "MEMORY": lambda process: memory(process.memory_mib),
    "POD": _pod,
    "CONTAINER": _container,
    "OWNER": lambda process: str(process.owner or NONE),
    "TYPE": _types,
    "MIG": _mig,
    "STARTED": lambda process: moment(process.started_at),
    "CONTAINER ID": lambda process: (process.container_id or NONE)[:SHORT_ID],
    "POD UID": lambda process: process.pod_uid or NONE,
    "MIG UUID": lambda process: process.mig.uuid if process.mig else NONE,
    "DETAIL": _detail,
}
