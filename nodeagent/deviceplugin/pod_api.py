"""The API server, as far as the device plugin needs it: pods of this node, and two annotations."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from gpupods.accounting.indexes import format_index
from gpupods.accounting.names import GPU_INDEX
from gpupods.identity import PodRef
from gpupods.kube.api import MERGE_PATCH, KubeApi
from gpupods.kube.failures import MalformedError
from gpupods.kube.paths import pod_path
from nodeagent.deviceplugin.pods import GPU_ASSIGNED, GpuPod, read_pod, read_pods

LIMIT_S = 3.0
"""Of one request: the kubelet starts no other pod while it waits for its answer."""

NEEDED = (
    "the agent's role must allow get, list and patch of pods, and the admission policy must know "
    "this node from the agent's token (manifests/components/device-plugin)"
)


class PodApi:
    """Reads and annotates the pods of ``node``. Each method raises ApiError."""

    def __init__(self, api: KubeApi, node: str) -> None:
        self._api = api
        self.node = node

    async def pending(self) -> tuple[GpuPod, ...]:
        """Those of this node that ask for GPUs and do not run yet, as they are now."""
        selector = quote(f"spec.nodeName={self.node},status.phase=Pending", safe="")
        path = f"/api/v1/pods?fieldSelector={selector}"
        answer = await self._api.ask("GET", path, limit_s=LIMIT_S, needed=NEEDED)
        try:
            return read_pods(answer.get("items") or ())
        except ValueError as error:
            raise MalformedError(f"GET {path}: {error}") from error

    async def on_node(self) -> tuple[GpuPod, ...]:
        """All of this node that have GPUs or are to have them, those being deleted too."""
        selector = quote(f"spec.nodeName={self.node}", safe="")
        path = f"/api/v1/pods?fieldSelector={selector}"
        answer = await self._api.ask("GET", path, limit_s=LIMIT_S, needed=NEEDED)
        try:
            pods = read_pods(answer.get("items") or (), deleted=True)
        except ValueError as error:
            raise MalformedError(f"GET {path}: {error}") from error
        return tuple(pod for pod in pods if not pod.ended)

    async def read(self, ref: PodRef) -> GpuPod:
        """One pod."""
        answer = await self._api.ask("GET", pod_path(ref), limit_s=LIMIT_S, needed=NEEDED)
        try:
            return read_pod(answer)
        except ValueError as error:
            raise MalformedError(f"GET {pod_path(ref)}: {error}") from error

    async def annotate(
        self, pod: GpuPod, *, assigned: bool, indexes: tuple[int, ...] | None = None
    ) -> None:
        """Say of a pod that it has its GPUs, or not yet, and which they are if that has changed.

        Nothing is written to another pod of that name.
        """
        annotations: dict[str, Any] = {GPU_ASSIGNED: "true" if assigned else None}
        if indexes is not None:
            annotations[GPU_INDEX] = format_index(indexes)
        body = {"metadata": {"uid": pod.uid, "annotations": annotations}}
        await self._api.ask(
            "PATCH", pod_path(pod.ref), body, limit_s=LIMIT_S, needed=NEEDED, media_type=MERGE_PATCH
        )
