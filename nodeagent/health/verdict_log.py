"""What the agent's log says when a GPU's verdict changes."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from nodeagent.health.verdict import Verdict

log = structlog.get_logger()


def log_changes(before: Sequence[Verdict], after: Sequence[Verdict]) -> None:
    """One line for each GPU that is better or worse off."""
    old = {verdict.index: verdict for verdict in before}
    for verdict in after:
        was = old.get(verdict.index)
        if was is not None and (was.standing, was.reason) == (verdict.standing, verdict.reason):
            continue
        if was is None and verdict.fit:
            continue
        tell = log.info if verdict.fit else log.warning
        tell(
            "gpu.health",
            index=verdict.index,
            gpu=verdict.uuid,
            pci_address=verdict.pci_address,
            standing=verdict.standing.value,
            reason=verdict.reason or None,
            action=verdict.action or None,
        )
