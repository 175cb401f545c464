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
_RESOURCE = ("resource",)
DEVICES_REGISTERED = Metric(
    f"{PREFIX}device_plugin_registered",
    "1 while the kubelet has the resource and follows its devices, else 0.",
    _RESOURCE,
)
DEVICES = Metric(
    f"{PREFIX}device_plugin_devices",
    "Devices that the kubelet is told of, the unhealthy ones too.",
    _RESOURCE,
)
DEVICES_UNHEALTHY = Metric(
    f"{PREFIX}device_plugin_devices_unhealthy", "Of these, the unhealthy ones.", _RESOURCE
)
REGISTRATIONS = Metric(
    f"{PREFIX}device_plugin_registrations", "How often the kubelet has taken it.", _RESOURCE
)
DEVICE_REQUESTS_ANSWERED = Metric(
    f"{PREFIX}device_plugin_containers_served", "Containers that were given GPUs."
)
DEVICE_REQUESTS_REFUSED = Metric(
    f"{PREFIX}device_plugin_containers_refused",
    "Containers that were not given GPUs, or were kept from starting; the log tells why.",
)
DEVICE_EXCHANGES = Metric(
    f"{PREFIX}device_plugin_exchanges", "Pods that had each other's GPUs, and say so now."
)
DEVICE_MARKS_LATE = Metric(
    f"{PREFIX}device_plugin_marks_late", "Pods that have GPUs and could not be marked so yet."
)
EVENTS_LOST = Metric(f"{PREFIX}events_lost", "Events that were given up.")
