"""What is to be said of the device plugin. Pure: from facts to a check."""

from __future__ import annotations

from gpupods.diagnosis import Check, failed, ok, warning
from nodeagent.deviceplugin.status import (
    MOST_SHOWN,
    DevicePluginStatus,
    Requests,
    too_many_to_be_shown,
)

DEVICE_PLUGIN = "device plugin"


def device_plugin_check(status: DevicePluginStatus | None) -> Check | None:
    """Whether the kubelet has the node's GPUs to give; None where nobody offers them."""
    if status is None:
        return None
    problems = [each.problem for each in status.resources if each.problem]
    if status.problem:
        problems.append(status.problem)
    if problems:
        return failed(
            DEVICE_PLUGIN,
            "; ".join(dict.fromkeys(problems)),
            'docs/device-plugin.md, "When nothing is registered"; it is tried again by itself',
        )
    if not any(each.devices for each in status.resources):
        return warning(
            DEVICE_PLUGIN,
            "nothing is offered to the kubelet: no GPU has been judged yet",
            "see the checks above; a moment after the agent's start, wait",
        )
    absent = [each.resource for each in status.resources if not each.registered]
    if absent:
        return warning(
            DEVICE_PLUGIN,
            f"the kubelet does not follow {' and '.join(absent)}",
            "wait: it is told within seconds. If it goes on: does another plugin of the same "
            "resource run on this node?",
        )
    return _registered(status)


def _registered(status: DevicePluginStatus) -> Check:
    if not status.can_check:
        return warning(
            DEVICE_PLUGIN,
            f"{_told(status)}; which pod has which GPU is not checked before containers start",
            "mount /var/lib/kubelet/pod-resources, and see --kubelet-pod-resources",
        )
    if status.most_devices > MOST_SHOWN:
        return warning(
            DEVICE_PLUGIN,
            f"{_told(status)}; {too_many_to_be_shown(status.most_devices)}",
            "set --device-plugin-memory-unit to 256, on every node and in what pods ask for: "
            "docs/device-plugin.md",
        )
    return ok(DEVICE_PLUGIN, _told(status))


def _told(status: DevicePluginStatus) -> str:
    listed = " and ".join(
        f"{each.devices} of {each.resource}"
        + (f" ({each.unhealthy} unhealthy)" if each.unhealthy else "")
        for each in status.resources
    )
    late = f"; {status.marks_late} pods are not marked yet" if status.marks_late else ""
    return f"the kubelet has {listed}; {_requests(status.requests)}{late}"


def _requests(requests: Requests) -> str:
    if not requests.refused:
        return f"{requests.answered} containers were given GPUs, and none was refused"
    return (
        f"{requests.answered} containers were given GPUs; refused: {requests.refused}, "
        f"the last since {requests.last_refusal}"
    )
