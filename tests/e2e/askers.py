"""The four ways to ask: grpcurl, curl, `gpupods get` and the Python client.

Each gives the answer as the contract's message, read from what that program has printed.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from google.protobuf.json_format import ParseDict

from gpupods import Client
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.e2e.programs import Ended, run_script
from tests.realparts.grpcurl import Grpcurl

METHOD = "gpupods.v1alpha1.GpuPodsService/GetGpuPods"
_DEADLINE_S = 20.0


class Asker(Protocol):
    """Asks a controller about a pod, and fails the test unless there is an answer."""

    def ask(self, pod: str, *, only_this_pod: bool = False) -> pb.GetGpuPodsResponse: ...


@dataclass(frozen=True)
class ByGrpcurl:
    """`grpcurl -d '{"worker_id": ...}' CONTROLLER GetGpuPods`."""

    grpcurl: Grpcurl
    target: str

    def ask(self, pod: str, *, only_this_pod: bool = False) -> pb.GetGpuPodsResponse:
        request = {"worker_id": pod, "only_this_pod": only_this_pod}
        answer = self.grpcurl.call(self.target, METHOD, request, deadline_s=_DEADLINE_S)
        assert answer.body is not None, f"{answer.code}: {answer.message}"
        return ParseDict(answer.body, pb.GetGpuPodsResponse())


@dataclass(frozen=True)
class HttpAnswer:
    """What curl has seen."""

    status: int
    content_type: str
    body: Any


@dataclass(frozen=True)
class ByCurl:
    """`curl http://CONTROLLER/gpu-pods?worker_id=...`."""

    curl: Path
    target: str

    def ask(self, pod: str, *, only_this_pod: bool = False) -> pb.GetGpuPodsResponse:
        answer = self.get(worker_id=pod, only_this_pod=json.dumps(only_this_pod))
        assert answer.status == 200, answer
        return ParseDict(answer.body, pb.GetGpuPodsResponse())

    def get(self, path: str = "/gpu-pods", **parameters: str) -> HttpAnswer:
        """GET the path with the parameters, escaped by curl."""
        pairs = [f"{key}={value}" for key, value in parameters.items()]
        escaped = [word for pair in pairs for word in ("--data-urlencode", pair)]
        words = ["-sS", "--max-time", f"{_DEADLINE_S:g}", "--noproxy", "*", "--get", *escaped]
        write_out = "\n%{http_code} %{content_type}"
        done = subprocess.run(
            [self.curl, *words, "--write-out", write_out, f"http://{self.target}{path}"],
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S + 10,
            check=True,
        )
        body, _, seen = done.stdout.rpartition("\n")
        status, _, content_type = seen.partition(" ")
        shown = json.loads(body) if content_type == "application/json" else body
        return HttpAnswer(int(status), content_type, shown)


@dataclass(frozen=True)
class ByCommand:
    """`gpupods get POD -o json`."""

    target: str

    def ask(self, pod: str, *, only_this_pod: bool = False) -> pb.GetGpuPodsResponse:
        done = self.run(pod, "-o", "json", *(["--only-this-pod"] if only_this_pod else []))
        assert done.code == 0, done.stderr
        return ParseDict(json.loads(done.stdout), pb.GetGpuPodsResponse())

    def run(self, *arguments: str) -> Ended:
        """`gpupods get` with these arguments, at this controller."""
        words = ("get", "--server", self.target, "--timeout", f"{_DEADLINE_S:g}s", *arguments)
        return run_script("gpupods", *words)


@dataclass(frozen=True)
class ByClient:
    """`gpupods.Client`, as the contract's message."""

    target: str

    def ask(self, pod: str, *, only_this_pod: bool = False) -> pb.GetGpuPodsResponse:
        with Client(self.target) as client:
            return client.get_gpu_pods_message(
                pod, only_this_pod=only_this_pod, timeout_s=_DEADLINE_S
            )
