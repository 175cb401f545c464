"""Verdicts as values, for tests of what is made of them."""

from __future__ import annotations

from dataclasses import replace

from gpupods.identity import GpuUuid
from nodeagent.health.causes import xid_cause
from nodeagent.health.verdict import Standing, Verdict


def fit(index: int) -> Verdict:
    return Verdict(
        index=index,
        uuid=GpuUuid(f"GPU-{index}"),
        pci_address=f"00000000:{index + 1:02X}:00.0",
        name="H100",
        standing=Standing.FIT,
        reason="",
        cause=None,
        xid=None,
        since_wall=None,
        action="",
        ends="",
        source="",
        who="",
        until_wall=None,
        others=(),
    )


def unfit(index: int, standing: Standing = Standing.UNFIT, since: float = 1.8e9) -> Verdict:
    return replace(
        fit(index),
        standing=standing,
        reason="XID 79: the GPU has fallen off the bus",
        cause=xid_cause(79),
        xid=79,
        since_wall=since,
        action="restart the node",
        source="nvml",
    )


def excluded(index: int, until: float | None = None) -> Verdict:
    return replace(
        fit(index),
        standing=Standing.EXCLUDED,
        reason="excluded by anna: odd",
        since_wall=1.8e9,
        action="ask anna",
        source="operator",
        who="anna",
        until_wall=until,
    )
