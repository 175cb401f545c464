"""Every metric of the node agent: its name, what it means, and its labels. One place for each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; ``name`` without the ``_total`` that a counter's samples end in."""

    name: str
    meaning: str
    labels: tuple[str, ...] = ()


PREFIX = "gpupods_nodeagent_"
_GPU = ("index", "uuid")

BUILD = Metric(f"{PREFIX}build_info", "Always 1; the label has the version.", ("version",))
JUDGED = Metric(
    f"{PREFIX}gpus_judged", "Whether the driver has been heard since the start: 1, else 0."
)
GPU_FIT = Metric(
    f"{PREFIX}gpu_fit", "1 for a GPU that may be given to pods, 0 for one that must not.", _GPU
)
GPU_UNFIT = Metric(
    f"{PREFIX}gpu_unfit",
    "1 for each GPU that must not be given to pods; why is in the labels.",
    (*_GPU, "standing", "cause"),
)
GPU_UNFIT_SINCE = Metric(
    f"{PREFIX}gpu_unfit_since_timestamp_seconds", "When that began, as seconds of 1970.", _GPU
)
HEALTH_PROBLEMS = Metric(
    f"{PREFIX}health_problems", "Reasons why something may go unseen; the doctor tells them."
)
REPORT_PENDING = Metric(
    f"{PREFIX}report_pending", "1 while the Node may not carry what it should, else 0."
)
REPORTS_WRITTEN = Metric(f"{PREFIX}reports_written", "Patches of the Node that were done.")
REPORTS_FAILED = Metric(f"{PREFIX}reports_failed", "Attempts to patch the Node that failed.")
REPORTS_PUT_RIGHT = Metric(
    f"{PREFIX}reports_put_right", "How often somebody else's change of a report was undone."
)
LAST_REPORT = Metric(
    f"{PREFIX}last_report_timestamp_seconds", "When the Node was last patched, as seconds of 1970."
)
EVENTS_WRITTEN = Metric(f"{PREFIX}events_written", "Events that were written.")
EVENTS_LOST = Metric(f"{PREFIX}events_lost", "Events that were given up.")
