"""Scenario -> the text that the library's parse.c reads; README.md describes the format."""

from collections.abc import Iterator, Mapping, Sequence

from tests.fakedriver.faults import Event, Fault
from tests.fakedriver.scenario import EccErrors, Gpu, Process, Scenario

Value = str | int | None


def render(
    scenario: Scenario, events: Sequence[tuple[int, Event]], slots: Mapping[Fault, int]
) -> str:
    """The scenario file's text.

    Args:
        scenario: What the library is to pretend.
        events: The events posted so far, each with its id, ids ascending.
        slots: For each fault with `times`, the counter that says how often it has struck.

    Raises:
        ValueError: A text holds a tab, a newline or a NUL, which the format cannot carry.
    """
    lines = [_driver(scenario)]
    for gpu in scenario.gpus:
        lines += _gpu_lines(gpu)
    lines += [_fault(fault, slots) for fault in scenario.faults]
    lines += [_event(number, event) for number, event in events]
    return "\n".join(lines) + "\n"


def _line(kind: str, **settings: Value) -> str:
    return "\t".join([kind, *(f"{key}={_text(value)}" for key, value in settings.items())])


def _text(value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return str(int(value))
    if any(forbidden in value for forbidden in "\t\n\0"):
        raise ValueError(f"a text in a scenario cannot hold a tab, newline or NUL: {value!r}")
    return value


def _driver(scenario: Scenario) -> str:
    return _line(
        "driver",
        version=scenario.driver_version,
        nvml_version=scenario.nvml_version,
        cuda_version=scenario.cuda_version,
        enumerate_at_init=scenario.enumerate_at_init,
    )


def _gpu_lines(gpu: Gpu) -> Iterator[str]:
    yield _gpu(gpu)
    yield from (_process(gpu, process) for process in gpu.processes)
    for mig in gpu.mig_instances:
        yield _line(
            "mig",
            gpu=gpu.uuid,
            uuid=mig.uuid,
            name=mig.name,
            index=mig.index,
            gi=mig.gpu_instance,
            ci=mig.compute_instance,
            memory_total=mig.memory_total,
            memory_used=mig.memory_used,
            memory_reserved=mig.memory_reserved,
        )
        for process in mig.processes:
            yield _process(gpu, process, gi=mig.gpu_instance, ci=mig.compute_instance)
    for sample in gpu.samples:
        yield _line("sample", gpu=gpu.uuid, **vars(sample))


def _gpu(gpu: Gpu) -> str:
    rows = gpu.remapped_rows
    ecc: Mapping[str, Value] = vars(gpu.ecc) if gpu.ecc else dict.fromkeys(vars(EccErrors()))
    return _line(
        "gpu",
        uuid=gpu.uuid,
        name=gpu.name,
        pci=gpu.pci,
        serial=gpu.serial,
        minor=gpu.minor,
        board_id=gpu.board_id,
        pci_device_id=gpu.pci_device_id,
        pci_subsystem_id=gpu.pci_subsystem_id,
        memory_total=gpu.memory_total,
        memory_used=gpu.memory_used,
        memory_reserved=gpu.memory_reserved,
        utilization_gpu=gpu.utilization,
        utilization_memory=gpu.utilization_memory,
        mig_mode=gpu.mig,
        mig_pending=gpu.mig_pending,
        mig_max=gpu.mig_max,
        mig_aggregate=gpu.mig_aggregate,
        lost=gpu.lost,
        enumerated=gpu.enumerated,
        event_types=gpu.event_types,
        recovery_action=gpu.recovery_action,
        remapped_correctable=rows.correctable if rows else None,
        remapped_uncorrectable=rows.uncorrectable if rows else None,
        remap_pending=rows.pending if rows else None,
        remap_failure=rows.failure if rows else None,
        **{f"ecc_{name}": count for name, count in ecc.items()},
    )


def _process(gpu: Gpu, process: Process, gi: int | None = None, ci: int | None = None) -> str:
    return _line(
        "process",
        gpu=gpu.uuid,
        pid=process.pid,
        memory=process.memory,
        kinds=process.kinds,
        name=process.name,
        gi=gi,
        ci=ci,
    )


def _fault(fault: Fault, slots: Mapping[Fault, int]) -> str:
    return _line(
        "fault",
        function=fault.function,
        gpu=fault.gpu or "",
        action=fault.action.value,
        value=fault.value,
        times=fault.times,
        slot=slots.get(fault, 0),
    )


def _event(number: int, event: Event) -> str:
    return _line(
        "event",
        id=number,
        gpu=event.gpu or "",
        type=event.type,
        data=event.data,
        gi=event.gpu_instance,
        ci=event.compute_instance,
    )
