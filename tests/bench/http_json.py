"""Controller, HTTP side: an answer with all its fields to JSON, against protobuf's json_format.

And what reading a request from its URL costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from google.protobuf import json_format

from controller.http import protojson
from controller.http.form import parse_form
from controller.http.query import populate_from_query
from controller.http.routes import Router
from controller.http.target import split_target
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.bench.report import Figure, at_most, latencies, median, quick, show

GPUS = 8
SIZES = (32, 8000)
BASELINE = "json_format"
TARGET = "/gpu-pods?worker_id=training%2Fllama-7b-0&only_this_pod=true&max_age_ms=250"
START_MS = 1_790_000_000_000


def main() -> None:
    """Measure and print."""
    figures: list[Figure] = []
    for rows in SIZES:
        response = answer(rows)
        ours, baseline = measure(response, 300 if rows == min(SIZES) else 10)
        figures += latencies(
            f"{rows} rows ({len(protojson.to_json(response)) // 1000} kB)",
            ours,
            baseline,
            BASELINE,
            target_median=at_most(0.3) if rows == min(SIZES) else None,
        )
    figures.append(Figure("URL to request, median", median(times(read_url, 2000)) * 1e6, "us"))
    show(
        "HTTP side: GetGpuPodsResponse to JSON",
        figures,
        [
            f"{BASELINE}: json_format.MessageToJson, printing fields without presence, no indent;",
            "both in turns, in one process",
        ],
    )


def measure(response: pb.GetGpuPodsResponse, count: int) -> tuple[list[float], list[float]]:
    """Seconds of each conversion, ours and the baseline's, in turns."""
    ours: list[float] = []
    baseline: list[float] = []
    for _ in range(count // 10 if quick() else count):
        ours += times(lambda: protojson.to_json(response), 1)
        baseline += times(lambda: as_json_format_does(response), 1)
    return ours, baseline


def times(work: Callable[[], object], count: int) -> list[float]:
    """Seconds of each of ``count`` calls."""
    taken = []
    for _ in range(count):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return taken


def as_json_format_does(response: pb.GetGpuPodsResponse) -> str:
    """The baseline."""
    return json_format.MessageToJson(
        response, indent=None, always_print_fields_with_no_presence=True
    )


def read_url() -> pb.GetGpuPodsRequest:
    """A request line's target to the request message."""
    target = split_target(TARGET)
    match = _router.find("GET", target.path)
    assert match is not None
    request = pb.GetGpuPodsRequest()
    populate_from_query(request, parse_form(target.query), match.route.bound_paths)
    return request


_router = Router([pb.DESCRIPTOR.services_by_name["GpuPodsService"]])


def answer(rows: int) -> pb.GetGpuPodsResponse:
    """An answer with every field of every row filled, the rows spread over all GPUs."""
    response = pb.GetGpuPodsResponse(node_name="gpu-node-17")
    response.sample_time.FromMilliseconds(START_MS)
    uuids = [f"GPU-{number:08x}-1c2d-4e5f-8a9b-0123456789ab" for number in range(GPUS)]
    for number, uuid in enumerate(uuids):
        response.GpuInfos[uuid].CopyFrom(_gpu(number, uuid))
    for number in range(rows):
        row = response.GpuPods[uuids[number % GPUS]].pidPods.add()
        row.CopyFrom(_row(number))
    return response


def _gpu(number: int, uuid: str) -> pb.GpuInfo:
    return pb.GpuInfo(
        uuid=uuid,
        gpuName="NVIDIA H200",
        usageGpu=97,
        index=number,
        pci_address=f"00000000:{number:02X}:00.0",
        memory_total=143_771,
        memory_used=120_000,
        utilization_known=True,
        memory_known=True,
        mig_mode=pb.MIG_MODE_ENABLED,
        health=pb.GPU_HEALTH_FIT,
    )


def _row(number: int) -> pb.PidPods:
    row = pb.PidPods(
        pid=100_000 + number,
        processName="python3",
        UsedGpuMemory=40_960,
        pod=f"llama-7b-{number}",
        namespace="training",
        pod_uid=f"{number:08x}-1111-2222-3333-444444444444",
        container_name="trainer",
        container_id=f"{number:064x}",
        types=[pb.PROCESS_TYPE_COMPUTE],
        memory_known=True,
    )
    row.owner.kind, row.owner.name = "Job", "llama-7b"
    row.start_time.FromMilliseconds(START_MS - number)
    row.mig.uuid = f"MIG-{number:08x}-1c2d-4e5f-8a9b-0123456789ab"
    row.mig.gpu_instance_id = 1
    return row
