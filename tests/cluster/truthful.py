"""Asks until the answer is the truth, which takes as long as the cluster's own news travels."""

from __future__ import annotations

import time
from collections.abc import Callable

from gpupods import Client
from gpupods.client.errors import GpuPodsError
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.e2e.comparing import assert_is, is_same

_DEADLINE_S = 60.0
_PAUSE_S = 0.05


def wait_for_truth(
    target: str,
    pod: str,
    truth: Callable[[], pb.GetGpuPodsResponse],
    *,
    deadline_s: float = _DEADLINE_S,
) -> None:
    """Ask about the pod until the answer is what `truth()` says, whole and exact."""
    last: pb.GetGpuPodsResponse | None = None
    error: GpuPodsError | None = None
    end = time.monotonic() + deadline_s
    with Client(target) as client:
        while time.monotonic() < end:
            try:
                last = client.get_gpu_pods_message(pod)
            except GpuPodsError as failed:
                error = failed
            else:
                if is_same(last, truth()):
                    break
            time.sleep(_PAUSE_S)
    assert last is not None, f"no answer about {pod} within {deadline_s:g} s: {error}"
    assert_is(last, truth())
