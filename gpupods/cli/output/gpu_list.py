"""The cluster's GPUs as a table for people: one row each, and below it what to know of it all.

`gpu_table` and `remarks` are pure; `print_gpu_list` prints. What came from elsewhere is made safe
for a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from rich.text import Text

from gpupods.cli.output.columns import Column, Layout, Row, lay_out
from gpupods.cli.output.missing import describe, print_lines
from gpupods.cli.output.stdout import write_answer
from gpupods.cli.output.terminal import console_for
from gpupods.cli.output.terminal_text import one_line, shown
from gpupods.cli.output.units import UNKNOWN, moment, used_of_total
from gpupods.client.answer import GpuHealth
from gpupods.client.gpu_list import GpuList, ListedGpu, MissingOfNode

HEADER = "dim"
NONE = "-"
STYLES: Mapping[str, str] = {
    "UNFIT": "bold red",
    "EXCLUDED": "yellow",
    "recovering": "yellow",
    "restored": "dim",
}
NAMES = ("NODE", "GPU", "NAME", "HEALTH", "SINCE", "REASON", "PODS")
WIDE = (*NAMES, "UNTIL", "TO DO", "ALSO", "UUID", "PCI", "MEMORY", "NOTICED BY", "TOLD BY")
SPARED: tuple[tuple[str, ...], ...] = ((), ("NAME",), ("NAME", "SINCE"))
"""What a line can do without where it has no room for all; `-o wide` has all of it."""


def health_word(gpu: ListedGpu) -> str:
    """How it stands, in one word; capitals are for those that somebody should look at."""
    health, detail = gpu.info.health, gpu.info.health_detail
    if health is GpuHealth.UNKNOWN:
        return UNKNOWN
    if health is GpuHealth.FIT:
        return "restored" if detail is not None and detail.operator else "fit"
    if detail is not None and detail.operator:
        return "EXCLUDED"
    return "recovering" if detail is not None and detail.recovering else "UNFIT"


def gpu_table(answer: GpuList, *, wide: bool, width: int | None) -> list[Text]:
    """One row for each GPU; lines fit ``width`` where they can without cutting names."""
    if not answer.gpus:
        return []
    layout, rows = _fitted(answer.gpus, wide=wide, width=width)
    return [*layout.header(HEADER), *(line for row in rows for line in layout.render(row))]


def _fitted(
    gpus: Sequence[ListedGpu], *, wide: bool, width: int | None
) -> tuple[Layout, list[Row]]:
    """As many columns as there is room for on one line; on several lines all of them."""
    if wide:
        return _laid_out(gpus, WIDE, width)
    for spared in SPARED:
        laid_out = _laid_out(gpus, [name for name in NAMES if name not in spared], width)
        if len(laid_out[0].lines) == 1:
            return laid_out
    return _laid_out(gpus, NAMES, width)


def _laid_out(
    gpus: Sequence[ListedGpu], names: Sequence[str], width: int | None
) -> tuple[Layout, list[Row]]:
    cells = [{name: one_line(CELLS[name](gpu)) for name in names} for gpu in gpus]
    used = [
        name for name in names if name not in SELDOM or any(each[name] != NONE for each in cells)
    ]
    rows = [
        Row(tuple(each[name] for name in used), STYLES.get(health_word(gpu), ""))
        for gpu, each in zip(gpus, cells, strict=True)
    ]
    layout = lay_out([Column(name, right=name == "GPU") for name in used], rows, width)
    if len(layout.lines) > 1:  # lines with nothing on them are left out
        rows = [replace(row, cells=tuple(_nothing(cell) for cell in row.cells)) for row in rows]
    return layout, rows


def _nothing(cell: str) -> str:
    return "" if cell == NONE else cell


def _since(gpu: ListedGpu) -> str:
    detail = gpu.info.health_detail
    return NONE if detail is None or detail.since is None else moment(detail.since)


def _until(gpu: ListedGpu) -> str:
    detail = gpu.info.health_detail
    return NONE if detail is None or detail.until is None else moment(detail.until)


def _pods(gpu: ListedGpu) -> str:
    if gpu.pods is None and gpu.info.last_pods:
        return f"{', '.join(map(str, gpu.info.last_pods))} (last seen)"
    if gpu.pods is None:
        given = ", ".join(map(str, gpu.given_to))
        return f"{UNKNOWN} (given to {given})" if given else UNKNOWN
    listed = [str(pod.ref) for pod in gpu.pods]
    if gpu.other_processes:
        listed.append(f"({gpu.other_processes} of no pod)")
    return ", ".join(listed) or NONE


def _detail(name: str) -> Callable[[ListedGpu], str]:
    return lambda gpu: str(getattr(gpu.info.health_detail, name, "") or NONE)


CELLS: Mapping[str, Callable[[ListedGpu], str]] = {
    "NODE": lambda gpu: gpu.node,
    "GPU": lambda gpu: UNKNOWN if gpu.info.index is None else str(gpu.info.index),
    "NAME": lambda gpu: gpu.info.name or UNKNOWN,
    "HEALTH": health_word,
    "SINCE": _since,
    "REASON": _detail("reason"),
    "PODS": _pods,
    "UNTIL": _until,
    "TO DO": _detail("action"),
    "ALSO": lambda gpu: "; ".join(getattr(gpu.info.health_detail, "others", ())) or NONE,
    "UUID": lambda gpu: gpu.info.uuid or UNKNOWN,
    "PCI": lambda gpu: gpu.info.pci_address or UNKNOWN,
    "MEMORY": lambda gpu: used_of_total(gpu.info.memory_used_mib, gpu.info.memory_total_mib),
    "NOTICED BY": _detail("source"),
    "TOLD BY": lambda gpu: gpu.source.value,
}
SELDOM = ("UNTIL", "TO DO", "ALSO", "NOTICED BY")
"""Columns that are left out where no GPU has anything there."""


def remarks(answer: GpuList, *, only_unfit: bool) -> Iterator[str]:
    """How many there are, and where schedulers have been told something else."""
    nodes = f"{answer.nodes} node{'' if answer.nodes == 1 else 's'}"
    gpus = f"{answer.gpus_known} GPU{'' if answer.gpus_known == 1 else 's'}"
    if not answer.nodes:
        yield (
            "No node is known to have GPUs: label those that have, "
            "kubectl label node NAME gpupods.io/gpu=true"
        )
        return
    unfit = sum(gpu.unfit for gpu in answer.gpus)
    so_far = "" if answer.complete else ", as far as could be found out"
    if only_unfit or unfit:
        are = "is" if unfit == 1 else "are"
        yield f"{unfit} of {gpus} on {nodes} {are} unfit{so_far}."
    else:
        yield f"{gpus} on {nodes}, none of them unfit{so_far}."
    yield from _differences(answer.gpus)


def _differences(gpus: Sequence[ListedGpu]) -> Iterator[str]:
    untold = [gpu for gpu in gpus if gpu.unfit and not gpu.announced]
    if untold:
        yield (
            f"{_named(untold)}: its agent says unfit, its Node does not (yet): schedulers may give "
            "it away. Does the agent report? Its --report, and its log, tell."
        )
    held_back = [gpu for gpu in gpus if gpu.info.health is GpuHealth.FIT and gpu.announced]
    if held_back:
        yield f"{_named(held_back)}: its agent says fit, its Node does not (yet)."


def _named(gpus: Sequence[ListedGpu]) -> str:
    return ", ".join(f"{shown(gpu.node)} GPU {gpu.info.index}" for gpu in gpus)


def missing_line(missing: MissingOfNode) -> str:
    """One line: "node gpu-2: its agent was not reached: ..."."""
    what = one_line(missing.reason) if missing.part is None else describe(missing.part)
    return what if missing.node is None else f"node {shown(missing.node)}: {what}"


def print_gpu_list(answer: GpuList, *, wide: bool, only_unfit: bool) -> None:
    """The table and the remarks on stdout, then a warning if it is not whole."""
    console = console_for(sys.stdout)
    width = console.width if console.is_terminal else None
    lines = gpu_table(answer, wide=wide, width=width)
    if lines:
        lines.append(Text())
    lines += [Text(line) for line in remarks(answer, only_unfit=only_unfit)]
    with console.capture() as printed:
        for line in lines:
            console.print(line, soft_wrap=True)
    write_answer(printed.get())
    print_lines(console_for(sys.stderr), [missing_line(each) for each in answer.missing])
