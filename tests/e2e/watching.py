"""Asks a controller again and again while a test breaks something, and judges every answer.

An answer is honest if it is the truth, or says that something is missing and holds nothing that
is not true. Which truths there may be, one after the other, the test says.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Self

from gpupods import Client
from gpupods.client.errors import DeadlineExceeded, GpuPodsError, Unavailable
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.e2e.comparing import as_json, is_same, without_missing
from tests.realparts.processes import wait_until

_PAUSE_S = 0.02
_TIMEOUT_S = 15.0

Known = tuple[str, ...]


class Watch:
    """Asks about one pod in a thread of its own, from `__enter__` to `__exit__`."""

    def __init__(self, target: str, pod: str) -> None:
        self._pod = pod
        self._client = Client(target)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask_on, name="watch")
        self.answers: list[pb.GetGpuPodsResponse] = []
        self.errors: list[Exception] = []

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: bool(self.answers or self.errors), what=f"an answer for {self._pod}")
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._client.close()

    def _ask_on(self) -> None:
        while not self._over.is_set():
            try:
                answer = self._client.get_gpu_pods_message(self._pod, timeout_s=_TIMEOUT_S)
            except Exception as error:  # noqa: BLE001 - judged by the test
                self.errors.append(error)
            else:
                self.answers.append(answer)
            self._over.wait(_PAUSE_S)

    def assert_honest(self, *truths: pb.GetGpuPodsResponse) -> None:
        """Fail on the first answer that is neither one of `truths` nor says what it lacks."""
        for error in self.errors:
            assert isinstance(error, Unavailable | DeadlineExceeded), error
            assert isinstance(error, GpuPodsError)
            assert error.message
        for answer in self.answers:
            assert_honest(answer, truths)


def assert_honest(answer: pb.GetGpuPodsResponse, truths: Iterable[pb.GetGpuPodsResponse]) -> None:
    """Fail if the answer is not honest."""
    truths = tuple(truths)
    if any(is_same(without_missing(answer), truth) for truth in truths):
        return
    assert answer.missing, f"not true, and nothing is said to be missing: {as_json(answer)}"
    true_rows = {row for truth in truths for row in _rows(truth)}
    true_places = {row[:3] for row in true_rows}
    assert {row for row in _rows(answer) if not _undetermined(row)} <= true_rows, as_json(answer)
    assert {row[:3] for row in _rows(answer)} <= true_places, as_json(answer)


def _undetermined(row: Known) -> bool:
    return row[-1] == pb.UnattributedReason.Name(pb.UNATTRIBUTED_REASON_UNDETERMINED)


def _rows(answer: pb.GetGpuPodsResponse) -> set[Known]:
    """GPU, pid and MIG device of each process, then its pod, or why it has none."""
    of_pods = {
        (*_place(gpu, row), row.namespace, row.pod, row.pod_uid, row.container_id)
        for gpu, pods in answer.GpuPods.items()
        for row in pods.pidPods
    }
    of_none = {
        (*_place(gpu, other.process), pb.UnattributedReason.Name(other.reason))
        for gpu, others in answer.unattributed.items()
        for other in others.processes
    }
    return of_pods | of_none


def _place(gpu: str, row: pb.PidPods) -> Known:
    return gpu, str(row.pid), row.mig.uuid
