"""What is to be said of reporting to the Node. Pure: from facts to a check."""

from __future__ import annotations

from gpupods.diagnosis import Check, failed, ok, warning
from nodeagent.reporting.status import ReportStatus

HEALTH_REPORT = "health report"


def health_report_check(status: ReportStatus | None) -> Check:
    """Whether the Node carries what it should; None: nobody reports."""
    if status is None:
        return ok(HEALTH_REPORT, "off: --report is not set")
    if status.problem:
        return failed(
            HEALTH_REPORT,
            status.problem,
            "until that is mended, schedulers may give unfit GPUs to pods; it is tried again by "
            "itself. docs/health.md tells what the agent needs",
        )
    if status.another_agent:
        return warning(
            HEALTH_REPORT,
            "left to another agent of this node",
            "let each node have one agent",
        )
    if not status.follows:
        return warning(
            HEALTH_REPORT,
            "there is no such Node",
            "is --node-name the name that `kubectl get nodes` has?",
        )
    return ok(HEALTH_REPORT, _told(status))


def _told(status: ReportStatus) -> str:
    lost = f"; {status.events_lost} events were given up" if status.events_lost else ""
    if not status.written:
        return f"the Node is followed, and there was nothing to write{lost}"
    times = "once" if status.written == 1 else f"{status.written} times"
    return f"the Node carries what it should; written {times}{lost}"
