"""What a foreign client finds out by itself: services, messages, and whether the server serves."""

from __future__ import annotations

import grpc
import pytest

from tests.e2e.world import World
from tests.realparts.grpcurl import Grpcurl

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SERVICE = "gpupods.v1alpha1.GpuPodsService"
CHECK = "grpc.health.v1.Health/Check"


@pytest.fixture(params=["agent", "controller"])
def target(request: pytest.FixtureRequest, standing: World) -> str:
    return standing.agent.address if request.param == "agent" else standing.controller.grpc


def test_grpcurl_lists_the_services(target: str, grpcurl: Grpcurl) -> None:
    listed = grpcurl.services(target)
    assert {SERVICE, "grpc.health.v1.Health"} <= set(listed)
    assert any(name.startswith("grpc.reflection.") for name in listed)


def test_grpcurl_describes_service_and_messages(target: str, grpcurl: Grpcurl) -> None:
    service = grpcurl.describe(target, SERVICE)
    assert "rpc GetGpuPods ( .gpupods.v1alpha1.GetGpuPodsRequest )" in service
    assert 'get: "/gpu-pods"' in service
    row = grpcurl.describe(target, "gpupods.v1alpha1.PidPods")
    for line in ("uint32 pid = 1", "string processName = 2", "uint64 UsedGpuMemory = 3"):
        assert line in row


@pytest.mark.parametrize("service", ["", SERVICE])
def test_the_health_service_says_serving(service: str, target: str, grpcurl: Grpcurl) -> None:
    answer = grpcurl.call(target, CHECK, {"service": service})
    assert (answer.code, answer.body) == (grpc.StatusCode.OK, {"status": "SERVING"})


def test_the_health_of_an_unknown_service_is_not_found(target: str, grpcurl: Grpcurl) -> None:
    answer = grpcurl.call(target, CHECK, {"service": "no.such.Service"})
    assert answer.code is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_the_controllers_http_port_has_probes(path: str, standing: World) -> None:
    answer = standing.by_curl.get(path)
    assert (answer.status, answer.body) == (200, "ok\n")
