"""DiagnosisService as a node agent serves it: about itself and its node."""

from __future__ import annotations

from typing import Any

import grpc

from gpupods.diagnosis import Check, to_message
from gpupods.serving import answer, time_left
from gpupods.v1alpha1 import diagnosis_pb2 as pb
from gpupods.v1alpha1 import diagnosis_pb2_grpc as pb_grpc
from gpupods.version import VERSION
from nodeagent.deviceplugin.status import Offering
from nodeagent.diagnosis.device_plugin import device_plugin_check
from nodeagent.diagnosis.examine import Surroundings, examine
from nodeagent.diagnosis.health import gpu_health_check, health_watch_check
from nodeagent.diagnosis.report import health_report_check
from nodeagent.gpus.sharing import SharedSampler
from nodeagent.health.monitor import HealthMonitor
from nodeagent.reporting.status import Reporting

WORKING_SHARE = 0.9
"""Of the caller's time, what may be used before the answer must be on its way."""


class NodeDiagnosis(pb_grpc.DiagnosisServiceServicer):
    """Examines this node."""

    def __init__(
        self,
        *,
        node_name: str,
        sampler: SharedSampler,
        surroundings: Surroundings,
        request_limit_s: float,
        health: HealthMonitor | None = None,
        reporting: Reporting | None = None,
        device_plugin: Offering | None = None,
    ) -> None:
        self._node_name = node_name
        self._sampler = sampler
        self._surroundings = surroundings
        self._request_limit_s = request_limit_s
        self._health = health
        self._reporting = reporting
        self._device_plugin = device_plugin

    async def Diagnose(  # noqa: N802 - the contract's name
        self, request: pb.DiagnoseRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.DiagnoseResponse:
        """Examine everything now."""
        del request  # it says something about a controller's nodes only
        limit_s = time_left(context, self._request_limit_s)
        return await answer(context, self._answer(limit_s * WORKING_SHARE))

    async def _answer(self, limit_s: float) -> pb.DiagnoseResponse:
        checks = await examine(self._sampler, self._surroundings, limit_s)
        checks += self._health_checks()
        response = pb.DiagnoseResponse(
            version=VERSION, checks=map(to_message, checks), node_name=self._node_name
        )
        response.answered_at.FromNanoseconds(int(self._surroundings.clock() * 1e9))
        return response

    def _health_checks(self) -> tuple[Check, ...]:
        if self._health is None:
            return (gpu_health_check(None),)
        status = self._reporting.status if self._reporting is not None else None
        offering = self._device_plugin.status if self._device_plugin is not None else None
        checks = (
            gpu_health_check(self._health.verdicts),
            health_watch_check(self._health.problems),
            health_report_check(status),
            device_plugin_check(offering),
        )
        return tuple(check for check in checks if check is not None)
