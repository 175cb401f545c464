"""A small client of the real API server, for setting the scene of a test.

No kubelet runs there, so the status of nodes and pods is written here as one would.
What gpupods itself uses to read the API server is not used, so that it is not
tested against itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import urllib3

from tests.realparts import objects

if TYPE_CHECKING:
    from pathlib import Path

    from tests.realparts.objects import ContainerStatus, Json

_TIMEOUT_S: Final = 30.0
_CONNECTIONS: Final = 16
_MERGE_PATCH: Final = "application/merge-patch+json"


class ApiError(RuntimeError):
    """The API server's answer was no success; `status` is the HTTP status."""

    def __init__(self, status: int, what: str, message: str) -> None:
        super().__init__(f"{what}: {status} {message}")
        self.status = status


class KubeApi:
    """Objects by their paths, and nodes and pods by name. Safe to share between threads."""

    def __init__(self, url: str, ca: Path, token: str) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._pool = urllib3.PoolManager(
            ca_certs=str(ca), maxsize=_CONNECTIONS, retries=False, timeout=_TIMEOUT_S
        )

    def get(self, path: str) -> Json:
        return self._send("GET", path)

    def post(self, path: str, body: Json) -> Json:
        return self._send("POST", path, body)

    def patch(self, path: str, body: Json) -> Json:
        """JSON merge patch: lists are replaced whole, null deletes."""
        return self._send("PATCH", path, body, _MERGE_PATCH)

    def delete(self, path: str, *, grace_s: int = 0) -> Json:
        """Delete at once, as when the kubelet has confirmed, unless `grace_s` is given."""
        return self._send("DELETE", path, {"gracePeriodSeconds": grace_s})

    def ready(self) -> bool:
        """Whether the server says it is ready and has made its first namespaces."""
        try:
            answer = self._pool.request("GET", f"{self._url}/readyz", headers=self._headers)
            self.get("/api/v1/namespaces/default")
        except (urllib3.exceptions.HTTPError, ApiError):
            return False
        return answer.status == 200

    def create_namespace(self, name: str) -> None:
        """Make the namespace, unless it is there."""
        try:
            self.post("/api/v1/namespaces", {"metadata": {"name": name}})
        except ApiError as error:
            if error.status != 409:
                raise

    def create_node(self, node: Json) -> Json:
        """Register a node with its status, in one request, as a kubelet does."""
        return self.post("/api/v1/nodes", node)

    def set_addresses(self, node_name: str, *internal_ips: str) -> Json:
        listed = objects.addresses(*internal_ips, hostname=node_name)
        return self.patch(f"{node_path(node_name)}/status", {"status": {"addresses": listed}})

    def create_pod(self, pod: Json, *statuses: ContainerStatus) -> Json:
        """Make the pod and, where `statuses` are given, have it running with them.

        The server chooses the uid: containers that should carry it are started after
        this, and reported by `set_containers`.
        """
        namespace = pod["metadata"]["namespace"]
        made = self.post(f"/api/v1/namespaces/{namespace}/pods", pod)
        if not statuses:
            return made
        return self.set_containers(namespace, pod["metadata"]["name"], *statuses)

    def set_containers(self, namespace: str, name: str, *statuses: ContainerStatus) -> Json:
        """Report the pod's containers; lists that are not in `statuses` stay as they are."""
        body = {"status": objects.running(*statuses)}
        return self.patch(f"{pod_path(namespace, name)}/status", body)

    def delete_pod(self, namespace: str, name: str) -> None:
        self.delete(pod_path(namespace, name))

    def delete_node(self, name: str) -> None:
        self.delete(node_path(name))

    def _send(
        self, method: str, path: str, body: Json | None = None, kind: str = "application/json"
    ) -> Json:
        answer = self._pool.request(
            method,
            self._url + path,
            body=None if body is None else json.dumps(body).encode(),
            headers={**self._headers, "Content-Type": kind},
        )
        content: Any = json.loads(answer.data)
        if answer.status >= 300:
            raise ApiError(answer.status, f"{method} {path}", content.get("message", ""))
        result: Json = content
        return result


def node_path(name: str) -> str:
    return f"/api/v1/nodes/{name}"


def pod_path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}"
