"""A node without GPUs, driver or runtime: the agent serves, and its answer says why it is empty."""

from __future__ import annotations

import ctypes

import pytest

from gpupods import Client
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.e2e.askers import METHOD
from tests.e2e.comparing import missing_parts
from tests.e2e.programs import Agent, Programs
from tests.fakedriver.driver import FakeDriver
from tests.realparts.grpcurl import Grpcurl

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

NO_SOCKET = "/no/such/containerd.sock"


def ask(agent: Agent) -> pb.GetGpuPodsResponse:
    with Client(agent.address) as client:
        return client.get_gpu_pods_message("", timeout_s=20)


def has_real_driver() -> bool:
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    return True


def bare(programs: Programs, **env: str) -> Agent:
    words = ("--grpc-listen", "127.0.0.1:0", "--runtime-socket", NO_SOCKET)
    return programs.agent(*words, env=env)


def test_without_a_driver(programs: Programs, grpcurl: Grpcurl) -> None:
    if has_real_driver():
        pytest.skip("this machine has an NVIDIA driver")
    agent = bare(programs)
    try:
        for _ in range(3):
            answer = ask(agent)
            assert not answer.GpuInfos
            ((kind, subject, reason),) = missing_parts(answer)
            assert (kind, subject) == ("DRIVER", "")
            assert "libnvidia-ml.so.1" in reason
        health = grpcurl.call(agent.address, "grpc.health.v1.Health/Check", {})
        assert health.body == {"status": "SERVING"}
        by_grpcurl = grpcurl.call(agent.address, METHOD, {})
        assert by_grpcurl.body["missing"][0]["kind"] == "MISSING_KIND_DRIVER"
        assert agent.alive
    finally:
        agent.stop()


def test_with_a_driver_and_no_gpu(programs: Programs) -> None:
    driver = FakeDriver(programs.folder("driver"))
    agent = bare(programs, **driver.environment({}))
    try:
        answer = ask(agent)
        assert not answer.GpuInfos
        assert [kind for kind, _, _ in missing_parts(answer)] in ([], ["DRIVER"])
        assert agent.alive
    finally:
        agent.stop()
