"""The plain algorithm that the node agent is compared with, every step of it in each request.

Ask containerd for its tasks, then for each task's processes one after another; initialise NVML,
walk the GPUs, shut NVML down; match pids with containers and containers with pods.
`python -m tests.bench.plain_agent SOCKET` reads a map {containerID: pod} per line on stdin, and
writes ``{"seconds": ..., "rows": ...}`` for each.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping

import grpc
import pynvml

from nodeagent.containerd_api import tasks_pb2 as tasks
from nodeagent.containerd_api import tasks_pb2_grpc

_METADATA = (("containerd-namespace", "k8s.io"),)


def containers_by_pid(stub: tasks_pb2_grpc.TasksStub) -> dict[int, str]:
    """The container of every process of every running task."""
    found: dict[int, str] = {}
    for task in stub.List(tasks.ListTasksRequest(), metadata=_METADATA).tasks:
        if task.status != tasks.RUNNING:
            continue
        request = tasks.ListPidsRequest(container_id=task.id)
        for process in stub.ListPids(request, metadata=_METADATA).processes:
            found[process.pid] = task.id
    return found


def gpu_pods(
    stub: tasks_pb2_grpc.TasksStub, pods: Mapping[str, str]
) -> dict[str, list[dict[str, object]]]:
    """GPU UUID -> rows of pid, process name, memory and pod."""
    containers = containers_by_pid(stub)
    pynvml.nvmlInit()
    try:
        answer: dict[str, list[dict[str, object]]] = {}
        for index in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            pynvml.nvmlDeviceGetName(handle)
            pynvml.nvmlDeviceGetUtilizationRates(handle)
            answer[pynvml.nvmlDeviceGetUUID(handle)] = [
                {
                    "pid": process.pid,
                    "processName": pynvml.nvmlSystemGetProcessName(process.pid),
                    "UsedGpuMemory": process.usedGpuMemory // 1024 // 1024,
                    "pod": pods[containers[process.pid]],
                }
                for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
                if containers.get(process.pid) in pods
            ]
        return answer
    finally:
        pynvml.nvmlShutdown()


def serve(socket: str) -> None:
    """Answer each line of stdin."""
    options = [("grpc.default_authority", "localhost")]
    with grpc.insecure_channel(f"unix://{socket}", options=options) as channel:
        stub = tasks_pb2_grpc.TasksStub(channel)
        for line in sys.stdin:
            pods = json.loads(line)
            began = time.perf_counter()
            answer = gpu_pods(stub, pods)
            took = time.perf_counter() - began
            rows = sum(map(len, answer.values()))
            print(json.dumps({"seconds": took, "rows": rows}), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
