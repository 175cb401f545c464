"""Reads `worker_id` as a node agent gets it: a JSON object {containerID: pod name}. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from gpupods.errors import StatusError, invalid_argument
from gpupods.identity import ContainerId, bare_container_id
from gpupods.logs import shorten

WANTED = (
    "at a node agent worker_id is a JSON object {containerID: pod name}, or empty to have "
    "pods named from the runtime's labels"
)


def parse_pod_map(worker_id: str) -> Mapping[ContainerId, str] | None:
    """Read the map; ids may carry a scheme such as ``containerd://``, which is stripped.

    Returns: None if ``worker_id`` is empty.

    Raises:
        StatusError: INVALID_ARGUMENT, telling the first thing that is wrong.
    """
    if not worker_id:
        return None
    try:
        decoded = json.loads(worker_id, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        raise _not_json(worker_id, error) from None
    if not isinstance(decoded, _Pairs):
        raise invalid_argument(f"{WANTED}; this is JSON of another kind: {shorten(worker_id)}")
    pods: dict[ContainerId, str] = {}
    for container_id, pod in decoded:
        bare = bare_container_id(container_id)
        name = _pod_name(container_id, bare, pod)
        if bare in pods:
            raise invalid_argument(f"container {shorten(bare)} is in the map twice; {WANTED}")
        pods[bare] = name
    return pods


class _Pairs(list[tuple[str, object]]):
    """A JSON object with its duplicate keys, told apart from a JSON array."""


def _pod_name(container_id: str, bare: str, pod: object) -> str:
    if not bare or not bare.isprintable():
        raise invalid_argument(f"{shorten(container_id)!r} is no container id; {WANTED}")
    if not isinstance(pod, str):
        kind = "an object" if isinstance(pod, list) else type(pod).__name__
        raise invalid_argument(
            f"the pod of container {shorten(bare)} is {kind}, not a string; {WANTED}"
        )
    if not pod or not pod.isprintable():
        raise invalid_argument(
            f"the pod of container {shorten(bare)} has the name {shorten(pod)!r}, which is "
            f"empty or has control characters; {WANTED}"
        )
    return pod


def _not_json(worker_id: str, error: Exception) -> StatusError:
    hint = (
        ""
        if worker_id.lstrip().startswith(("{", "["))
        else "; to ask for a pod by name, ask the controller"
    )
    why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return invalid_argument(f"{WANTED}; {shorten(worker_id)!r} is not JSON ({why}){hint}")
