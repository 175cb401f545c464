"""An answer as a table for people: the GPUs of a node, and under each the processes on it.

Pure: lines of styled text. Everything that came from elsewhere is made safe for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from gpupods.cli.output.columns import Layout, Row, join_wrapped, lay_out
from gpupods.cli.output.process_rows import MARK, Columns, columns_for, other_memory_row, row_for
from gpupods.cli.output.terminal_text import shown
from gpupods.cli.output.units import UNKNOWN, moment, percent, used_of_total
from gpupods.cli.question import Question
from gpupods.client.answer import GpuHealth, GpuInfo, GpuPodsAnswer, GpuState, MigMode

HEADER = "dim"
GPU = "bold"
UNFIT_GPU = "bold red"
QUIET = "dim"

SPARED: tuple[tuple[str, ...], ...] = ((), ("TYPE",), ("TYPE", "OWNER"))
"""What a line can do without where it has no room for all; `-o wide` has all of it."""


def table(
    answer: GpuPodsAnswer, question: Question, *, wide: bool = False, width: int | None = None
) -> list[Text]:
    """The whole table, line by line; lines fit ``width`` where they can without cutting names.

    Rows of the pod that was asked for are marked with "*", unless no others are there.
    """
    groups, layout = _fitted(answer, question, wide=wide, width=width)
    lines = [Text(line) for line in join_wrapped(list(_node_facts(answer, question)), width)]
    if any(rows for _, rows in groups):
        lines += [Text(), *layout.header(HEADER)]
    for gpu, rows in groups:
        lines += [Text(), *_gpu_title(gpu.info, wide=wide, width=width)]
        lines += [Text(line, style=style) for line, style in _health(gpu.info, wide=wide)]
        if not gpu.processes:
            lines.append(Text(f"  {_nobody(gpu.info, question)}", style=QUIET))
        for row in rows:
            lines += layout.render(row)
    lines += [Text(line) for line in _remarks(answer, question)]
    return lines


def _fitted(
    answer: GpuPodsAnswer, question: Question, *, wide: bool, width: int | None
) -> tuple[list[tuple[GpuState, list[Row]]], Layout]:
    """The rows in as many columns as there is room for on a line."""
    names = columns_for(answer, wide=wide, marked=not question.only_this_pod).names
    for spared in ((),) if wide else SPARED:
        columns = Columns(tuple(name for name in names if name not in spared))
        groups = [(gpu, _rows(gpu, question, columns.names)) for gpu in answer.gpus]
        layout = lay_out(columns.columns, [row for _, rows in groups for row in rows], width)
        if len(layout.lines) == 1:
            break
    return groups, layout


def _rows(gpu: GpuState, question: Question, names: tuple[str, ...]) -> list[Row]:
    rows = [
        row_for(process, names, asked_for=not question.only_this_pod and question.is_about(process))
        for process in gpu.rows
    ]
    rows += [row_for(process, names, asked_for=False) for process in gpu.unattributed]
    other = other_memory_row(gpu, names, narrowed=question.only_this_pod)
    return [*rows, other] if other is not None else rows


def _node_facts(answer: GpuPodsAnswer, question: Question) -> Iterator[str]:
    yield f"node {shown(answer.node or UNKNOWN)}"
    if answer.sampled_at is not None:
        yield f"sampled {moment(answer.sampled_at)}"
    else:
        yield "never sampled: the driver has not answered"
    if not question.only_this_pod and _has_rows(answer, question):
        yield f"{MARK} is {shown(question.pod)}"


def _has_rows(answer: GpuPodsAnswer, question: Question) -> bool:
    return any(question.is_about(row) for gpu in answer.gpus for row in gpu.rows)


def _gpu_title(info: GpuInfo, *, wide: bool, width: int | None) -> list[Text]:
    style = UNFIT_GPU if info.health is GpuHealth.UNFIT else GPU
    return [Text(line, style=style) for line in join_wrapped(list(_facts(info, wide)), width)]


def _facts(info: GpuInfo, wide: bool) -> Iterator[str]:  # noqa: FBT001
    if info.index is None:
        yield f"GPU {UNKNOWN}"
        yield shown(info.uuid)
        yield "nothing else is known of it"
        return
    yield f"GPU {info.index}"
    yield shown(info.name or UNKNOWN)
    yield f"utilisation {percent(info.utilization_percent)}"
    yield f"memory {used_of_total(info.memory_used_mib, info.memory_total_mib)}"
    if info.mig_mode is MigMode.ENABLED:
        yield "MIG enabled"
    if info.health is GpuHealth.UNFIT:
        recovers = info.health_detail is not None and info.health_detail.recovering
        yield f"UNFIT{', recovering' if recovers else ''}: to be given to nobody"
    elif info.health_detail is not None and info.health_detail.operator:
        yield "restored"
    if wide:
        yield shown(info.uuid)
        yield f"PCI {shown(info.pci_address or UNKNOWN)}"


def _nobody(info: GpuInfo, question: Question) -> str:
    """Instead of rows."""
    if info.last_pods:
        at = f" at {moment(info.last_pods_at)}" if info.last_pods_at is not None else ""
        pods = ", ".join(shown(str(pod)) for pod in info.last_pods)
        return f"its processes are not known; last seen{at} and still running: {pods}"
    return f"no process{' of this pod' if question.only_this_pod else ''} found"


def _health(info: GpuInfo, *, wide: bool) -> Iterator[tuple[str, str]]:
    """Why it is unfit, or fit by somebody's word; with what to do where there is room."""
    detail = info.health_detail
    if detail is None:
        return
    style = UNFIT_GPU if info.health is GpuHealth.UNFIT else QUIET
    since = f", since {moment(detail.since)}" if detail.since is not None else ""
    until = f", until {moment(detail.until)}" if detail.until is not None else ""
    yield f"  {shown(detail.reason)}{since}{until}", style
    if info.health is not GpuHealth.UNFIT:
        return
    yield f"  to do: {shown(detail.action)}", ""
    if wide:
        yield f"  fit again: {shown(detail.ends)}", ""
        yield from ((f"  also: {shown(other)}", "") for other in detail.others)


def _remarks(answer: GpuPodsAnswer, question: Question) -> Iterator[str]:
    if not answer.gpus:
        yield ""
        yield "No GPU was found on this node."
        return
    if _has_rows(answer, question):
        return
    yield ""
    reserve = "" if answer.complete else ", as far as could be found out"
    yield f"{shown(question.pod)} has no process on a GPU of this node{reserve}."
