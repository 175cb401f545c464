"""A pod's row in kubectl's table: what READY, STATUS and RESTARTS say. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from simulator.apiserver.ages import age
from simulator.apiserver.pod_object import Json


def pod_cells(pod: Json, old: str, now: float) -> list[Any]:
    """The cells, in the order of the pods' columns."""
    status = pod.get("status") or {}
    return [
        pod["metadata"]["name"],
        _ready(pod),
        _reason(pod),
        _restarts(pod, now),
        old,
        status.get("podIP") or "<none>",
        (pod.get("spec") or {}).get("nodeName") or "<none>",
        "<none>",
        "<none>",
    ]


def _statuses(pod: Json, field: str) -> list[Json]:
    return (pod.get("status") or {}).get(field) or []


def _sidecars(pod: Json) -> set[str]:
    init = (pod.get("spec") or {}).get("initContainers") or ()
    return {each["name"] for each in init if each.get("restartPolicy") == "Always"}


def _counted(pod: Json) -> list[Json]:
    """The statuses of the containers that should run: the app's and the sidecars'."""
    sidecars = _sidecars(pod)
    init = _statuses(pod, "initContainerStatuses")
    return [each for each in init if each["name"] in sidecars] + _statuses(pod, "containerStatuses")


def _ready(pod: Json) -> str:
    total = len((pod.get("spec") or {}).get("containers") or ()) + len(_sidecars(pod))
    ready = sum(1 for each in _counted(pod) if each.get("ready") and "running" in each["state"])
    return f"{ready}/{total}"


def _reason(pod: Json) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    starting = _initializing(pod)
    if starting is not None:
        return starting
    reason: str = (pod.get("status") or {}).get("phase") or "Unknown"
    running = False
    for each in reversed(_statuses(pod, "containerStatuses")):
        state = each.get("state") or {}
        if "waiting" in state:
            reason = state["waiting"].get("reason") or reason
        elif "terminated" in state:
            reason = _ended(state["terminated"])
        else:
            running = True
    return "Running" if running and reason == "Completed" else reason


def _initializing(pod: Json) -> str | None:
    """``Init:0/2`` and the like while an init container has not done its work."""
    statuses = _statuses(pod, "initContainerStatuses")
    sidecars = _sidecars(pod)
    for done, each in enumerate(statuses):
        state = each.get("state") or {}
        ended = state.get("terminated")
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if each["name"] in sidecars and "running" in state:
            continue
        if ended is not None:
            return f"Init:{_ended(ended)}"
        waiting = (state.get("waiting") or {}).get("reason", "PodInitializing")
        if waiting not in ("PodInitializing", "ContainerCreating"):
            return f"Init:{waiting}"
        return f"Init:{done}/{len(statuses)}"
    return None


def _ended(terminated: Json) -> str:
    return terminated.get("reason") or f"ExitCode:{terminated.get('exitCode', 0)}"


def _restarts(pod: Json, now: float) -> str:
    counted = _counted(pod)
    count = sum(each.get("restartCount", 0) for each in counted)
    ends = [
        (each.get("lastState") or {}).get("terminated", {}).get("finishedAt") for each in counted
    ]
    last = max((end for end in ends if end), default=None)
    if not count or last is None:
        return str(count)
    return f"{count} ({age(now - datetime.fromisoformat(last).timestamp())} ago)"
