"""Verdicts -> what the Node should carry. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gpupods.logs import shorten
from gpupods.node_annotations import (
    UnfitGpu,
    UnfitStanding,
    format_health,
    format_ids,
    parse_health,
    parse_ids,
)
from nodeagent.health.verdict import Standing, Verdict

REASON_LIMIT = 400
"""Characters of what an operator or a driver wrote: an annotation has room for so much."""

ALL_FIT = "every GPU may be given to pods"

_STANDINGS = {
    Standing.UNFIT: UnfitStanding.UNFIT,
    Standing.RECOVERING: UnfitStanding.RECOVERING,
    Standing.EXCLUDED: UnfitStanding.EXCLUDED,
}


@dataclass(frozen=True, slots=True)
class Report:
    """What the Node should carry.

    Attributes:
        ids: The annotation for schedulers; None: none.
        health: The annotation with the reasons; None: none.
        gpus: What is in ``health``.
        message: The condition's, for people.
    """

    ids: str | None
    health: str | None
    gpus: tuple[UnfitGpu, ...]
    message: str

    @property
    def unfit(self) -> bool:
        """Whether there is a GPU that nobody should be given."""
        return self.ids is not None


def report_of(verdicts: Sequence[Verdict]) -> Report:
    """What the Node should carry when all GPUs have been judged."""
    gpus = tuple(_unfit_gpu(verdict) for verdict in verdicts if not verdict.fit)
    return _report((gpu.index for gpu in gpus), gpus)


def report_before_judgement(
    verdicts: Sequence[Verdict], ids: str | None, health: str | None
) -> Report | None:
    """What the Node should carry while not all has been heard yet: what it does, and more.

    Args:
        verdicts: What is known already, from before a restart or from the kernel log.
        ids: What the Node carries.
        health: The same, with the reasons.

    Returns: None: nothing more than it does.
    """
    known = report_of(verdicts).gpus
    mine = {gpu.index for gpu in known}
    carried, _ = parse_ids(ids)
    if mine <= carried:
        return None
    before, _ = parse_health(health)
    gpus = tuple(gpu for gpu in before if gpu.index not in mine) + known
    return _report(carried | mine, gpus)


def _report(indexes: Iterable[int], gpus: tuple[UnfitGpu, ...]) -> Report:
    ordered = tuple(sorted(gpus, key=lambda gpu: gpu.index))
    ids = format_ids(indexes)
    message = _message(ordered) if ids else ALL_FIT
    return Report(ids, format_health(ordered), ordered, message)


def _unfit_gpu(verdict: Verdict) -> UnfitGpu:
    return UnfitGpu(
        index=verdict.index,
        uuid=verdict.uuid,
        pci_address=verdict.pci_address,
        standing=_STANDINGS[verdict.standing],
        reason=shorten(verdict.reason, REASON_LIMIT),
        since=_time(verdict.since_wall),
        action=verdict.action,
        source=verdict.source,
        xid=verdict.xid or 0,
        who=shorten(verdict.who, REASON_LIMIT),
        until=_time(verdict.until_wall),
    )


def _time(seconds: float | None) -> datetime | None:
    """Whole seconds: as much as anybody reads. None, too, for what no calendar has."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _message(gpus: Iterable[UnfitGpu]) -> str:
    return "; ".join(f"GPU {gpu.index}: {gpu.reason}" for gpu in gpus) or "see the annotations"
