"""An API server's pods and nodes by the hundred thousand, in the protobuf encoding, and its events.

A process of its own, so that its memory and time are not the controller's. It prints its address
and serves lists in pages and watches; `POST /events?rate=R&count=N` sends N changes of pods to
the watch of pods, R a second. The time of each is in the container id that the change brings.
"""

from __future__ import annotations

import asyncio
import struct
import sys
import time
from collections.abc import Iterator

import uvloop
from aiohttp import web

from gpupods.kube_api import objects_pb2 as pb

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
TICK_S = 0.001
PODS_A_GROUP = 10
GPUS = 8
"""Of each node."""


def pod(number: int, nodes: int, version: int, container: str) -> pb.Pod:
    """A running pod of a Deployment, with a main container and a sidecar; 8 of a node have GPUs."""
    group = number // PODS_A_GROUP
    template_hash = f"{group:010x}"
    owner = f"training-{group:05}-{template_hash}"
    meta = pb.ObjectMeta(
        name=f"{owner}-{number % PODS_A_GROUP:05}",
        namespace=f"team-{group % 200:03}",
        uid=uid(number),
        resource_version=str(version),
        labels={"app": f"training-{group:05}", "pod-template-hash": template_hash},
        owner_references=[pb.OwnerReference(kind="ReplicaSet", name=owner, controller=True)],
    )
    statuses = [
        pb.ContainerStatus(name="main", container_id=f"containerd://{container}"),
        pb.ContainerStatus(name="proxy", container_id=f"containerd://{number:064x}"),
    ]
    status = pb.PodStatus(phase="Running", container_statuses=statuses)
    limits = {"cpu": pb.Quantity(string="8"), "memory": pb.Quantity(string="64Gi")}
    proxy = pb.Container(resources=pb.ResourceRequirements(limits=limits))
    card = number // nodes
    if card < GPUS:  # as many pods of a node share its GPUs as it has
        limits["volcano.sh/gpu-memory"] = pb.Quantity(string="40")
        meta.annotations["volcano.sh/gpu-index"] = str(card)
    meta.annotations["kubernetes.io/config.seen"] = "2026-01-01T00:00:00.000000000Z"
    asking = pb.Container(resources=pb.ResourceRequirements(limits=limits))
    spec = pb.PodSpec(node_name=node_name(number % nodes), containers=[asking, proxy])
    return pb.Pod(metadata=meta, spec=spec, status=status)


def uid(number: int) -> str:
    """Of the pod with this number."""
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def node_name(number: int) -> str:
    """Of the node with this number."""
    return f"gpu-node-{number:04}"


def node(number: int) -> pb.Node:
    """A node with one address and its GPUs."""
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    made = pb.Node()
    made.metadata.name, made.metadata.uid = node_name(number), uid(number)
    made.metadata.resource_version = "1"
    made.status.addresses.add(type="InternalIP", address=address)
    made.status.capacity["volcano.sh/gpu-memory"].string = str(GPUS * 80)
    made.status.capacity["volcano.sh/gpu-number"].string = str(GPUS)
    return made


def stamped(sequence: int) -> str:
    """A container id of 64 hex digits that tells when it was made, on the machine's clock."""
    return f"{sequence:032x}{time.monotonic_ns():032x}"


def stamp_of(container_id: str) -> int:
    """When it was made, in nanoseconds; 0 for an id that does not tell."""
    return int(container_id[32:], 16) if container_id.startswith("0" * 16) else 0


def field(number: int, content: bytes) -> bytes:
    """A length-delimited protobuf field."""
    length, out = len(content), bytearray([number << 3 | 2])
    while length > 0x7F:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*out, length]) + content


def wrapped(raw: bytes) -> bytes:
    """As each answer is wrapped."""
    return b"k8s\0" + field(2, raw)


class BigApiServer:
    """``pods`` pods of about ``size`` bytes on ``nodes`` nodes."""

    def __init__(self, pods: int, nodes: int, size: int) -> None:
        self._pods, self._nodes = pods, nodes
        self._version = 1000
        bare = len(pod(0, nodes, self._version, stamped(0)).SerializeToString())
        # What is left of a pod, as far as a reader is concerned that passes over it.
        self._padding = field(15, b"x" * max(0, size - bare))
        self._watch: web.StreamResponse | None = None

    async def listed(self, request: web.Request) -> web.StreamResponse:
        """A page of pods or of nodes, or a watch of either."""
        of_pods = request.path.endswith("pods")
        if "watch" in request.query:
            return await self._watched(request, of_pods=of_pods)
        count = self._pods if of_pods else self._nodes
        start = int(request.query.get("continue", 0))
        end = min(count, start + int(request.query["limit"]))
        token = str(end) if end < count else ""
        metadata = pb.ListMeta(resource_version=str(self._version), continue_token=token)
        items = self._pod_items(start, end) if of_pods else self._node_items(start, end)
        raw = field(1, metadata.SerializeToString()) + b"".join(field(2, item) for item in items)
        return web.Response(body=wrapped(raw), content_type=MEDIA_TYPE)

    def _pod_items(self, start: int, end: int) -> Iterator[bytes]:
        for number in range(start, end):
            plain = pod(number, self._nodes, self._version, f"f{number:063x}")
            yield plain.SerializeToString() + self._padding

    def _node_items(self, start: int, end: int) -> Iterator[bytes]:
        for number in range(start, end):
            yield node(number).SerializeToString()

    async def _watched(self, request: web.Request, *, of_pods: bool) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": f"{MEDIA_TYPE};stream=watch"})
        await response.prepare(request)
        if of_pods:
            self._watch = response
        await asyncio.sleep(3600)
        return response

    async def send_events(self, request: web.Request) -> web.StreamResponse:
        """Send changes at the rate that is asked for; answers when all are sent."""
        rate, count = int(request.query["rate"]), int(request.query["count"])
        started, sent = time.monotonic(), 0
        while sent < count:
            due = min(count, int((time.monotonic() - started) * rate))
            for sequence in range(sent, due):
                await self._send(sequence)
            sent = max(sent, due)
            await asyncio.sleep(TICK_S)
        return web.Response()

    async def _send(self, sequence: int) -> None:
        assert self._watch is not None, "nobody watches"
        self._version += 1
        number = sequence * 7919 % self._pods
        changed = pod(number, self._nodes, self._version, stamped(sequence))
        wire = wrapped(changed.SerializeToString() + self._padding)
        event = field(1, b"MODIFIED") + field(2, field(1, wire))
        await self._watch.write(struct.pack(">I", len(event)) + event)


async def serve(pods: int, nodes: int, size: int) -> None:
    """Print the address, and serve until stdin ends."""
    server = BigApiServer(pods, nodes, size)
    app = web.Application()
    app.router.add_get("/api/v1/{kind:pods|nodes}", server.listed)
    app.router.add_post("/events", server.send_events)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    print(f"http://{host}:{port}", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    uvloop.run(serve(*map(int, sys.argv[1:4])))
