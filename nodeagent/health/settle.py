"""A sample as the inventory knows the node: lasting indexes, and GPUs that are away. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpupods.identity import GpuUuid
from nodeagent.gpus.sample import Gpu, GpuSample, MigMode, Missing, MissingKind
from nodeagent.health.inventory import pci_key
from nodeagent.health.verdict import Verdict


def settle(sample: GpuSample, verdicts: Sequence[Verdict]) -> GpuSample:
    """``sample`` with each GPU under the index that the node's inventory has for it.

    A GPU of the inventory that the sample lacks is added without what changes, and named among
    the missing; one whose place another board has taken is left out.

    Returns: ``sample`` itself if it is as the inventory has it.
    """
    by_uuid = {verdict.uuid: verdict for verdict in verdicts}
    kept = [gpu for gpu in sample.gpus if not _was_replaced(gpu, by_uuid)]
    gpus = [_indexed(gpu, by_uuid.get(gpu.uuid)) for gpu in kept]
    here = {gpu.uuid for gpu in gpus}
    away = [verdict for verdict in verdicts if verdict.uuid not in here]
    if not away and len(gpus) == len(sample.gpus) and all(map(_same, gpus, sample.gpus)):
        return sample
    gpus += [_identity(verdict) for verdict in away]
    return replace(
        sample,
        gpus=tuple(sorted(gpus, key=lambda gpu: gpu.index)),
        missing=_missing(sample, away, {gpu.uuid for gpu in sample.gpus} - here),
    )


def _same(one: Gpu, other: Gpu) -> bool:
    return one is other


def _was_replaced(gpu: Gpu, by_uuid: dict[GpuUuid, Verdict]) -> bool:
    if gpu.uuid in by_uuid:
        return False
    place = pci_key(gpu.pci_address)
    return place is not None and any(
        pci_key(verdict.pci_address) == place for verdict in by_uuid.values()
    )


def _indexed(gpu: Gpu, verdict: Verdict | None) -> Gpu:
    if verdict is None or verdict.index == gpu.index:
        return gpu
    return replace(gpu, index=verdict.index)


def _identity(verdict: Verdict) -> Gpu:
    return Gpu(
        index=verdict.index,
        uuid=verdict.uuid,
        name=verdict.name,
        pci_address=verdict.pci_address,
        memory_total_bytes=None,
        memory_used_bytes=None,
        utilization_percent=None,
        mig_mode=MigMode.UNKNOWN,
        processes=(),
        processes_whole=False,
    )


def _missing(
    sample: GpuSample, away: Sequence[Verdict], replaced: set[GpuUuid]
) -> tuple[Missing, ...]:
    """The driver's word for a GPU that it cannot reach is kept, under the GPU's UUID."""
    nameless = {f"gpu {verdict.index}": verdict for verdict in away}
    told: list[Missing] = []
    for entry in sample.missing:
        if entry.subject in replaced:
            continue
        verdict = nameless.pop(entry.subject, None) if entry.kind is MissingKind.GPU else None
        told.append(entry if verdict is None else replace(entry, subject=verdict.uuid))
    if sample.taken is None:
        return tuple(told)  # the driver does not answer, and that is told
    return (*told, *(_gone(verdict) for verdict in nameless.values()))


def _gone(verdict: Verdict) -> Missing:
    return Missing(
        MissingKind.GPU,
        verdict.uuid,
        f"gpu {verdict.index} ({verdict.name}) at {verdict.pci_address} was there before and the "
        f"driver does not list it; {verdict.action or 'see whether it was taken out'}",
    )
