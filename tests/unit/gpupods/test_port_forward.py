"""Without a server's name, the controller in the cluster is asked through the Kubernetes API."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpupods.cli.__main__ import run
from gpupods.cli.exit_codes import ExitCode
from gpupods.errors import not_found
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.unit.gpupods.answers import busy_node
from tests.unit.gpupods.controller_double import ControllerDouble, failing
from tests.unit.gpupods.kube_api_double import LABELS, KubeApiDouble, pod

LIMIT_S = 30
Get = Callable[..., int]
Output = pytest.CaptureFixture[str]


@pytest.fixture
def api(controller: ControllerDouble) -> KubeApiDouble:
    ready = pod("controller-7d9f8-b", ports={"http": 8080, "grpc": 50050})
    return KubeApiDouble(controller.port, [pod("controller-7d9f8-a", ready=False), ready])


@pytest.fixture(params=[False, True], ids=["http", "https"])
def get(
    api: KubeApiDouble,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[Get]:
    """Run ``gpupods get`` with a kubeconfig for the API."""
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.delenv("GPUPODS_SERVER", raising=False)
    hook = threading.excepthook
    with api.serving(tmp_path, tls=request.param) as kubeconfig:
        yield lambda *arguments: run(
            ["get", *arguments, "--kubeconfig", str(kubeconfig)], "gpupods"
        )
        assert api.wait_until_all_closed(LIMIT_S)
    assert list(scratch.glob("gpupods-*")) == []
    assert threading.excepthook is hook


def test_the_ready_controller_is_asked(
    get: Get, api: KubeApiDouble, controller: ControllerDouble, capsys: Output
) -> None:
    assert get("team-a/train-0") == ExitCode.OK
    output = capsys.readouterr()
    assert output.out.startswith("node gpu-node-1")
    assert output.err == ""
    assert api.queries == [{"namespace": "gpupods-system", "labelSelector": LABELS}]
    assert api.forwarded == [("controller-7d9f8-b", "50050")]
    assert api.tokens == {"Bearer secret"}
    assert controller.requests == [pb.GetGpuPodsRequest(worker_id="team-a/train-0")]


def test_where_the_controller_is_may_be_said(get: Get, api: KubeApiDouble) -> None:
    where = ["--controller-namespace", "monitoring", "--controller-selector", "app=gp"]
    assert get("x", *where, "--controller-port", "1234") == ExitCode.OK
    assert api.queries == [{"namespace": "monitoring", "labelSelector": "app=gp"}]
    assert api.forwarded == [("controller-7d9f8-b", "1234")]


def test_the_controllers_errors_come_through(
    get: Get, controller: ControllerDouble, capsys: Output
) -> None:
    controller.answer = failing(not_found("there is no pod named 'x' in any namespace"))
    assert get("x") == ExitCode.REFUSED
    assert capsys.readouterr().err == "Error: there is no pod named 'x' in any namespace\n"


def test_a_large_answer_comes_through(
    get: Get, controller: ControllerDouble, capsys: Output
) -> None:
    def large(_: pb.GetGpuPodsRequest) -> pb.GetGpuPodsResponse:
        response = busy_node()
        response.missing.add(reason="x" * 6_000_000)
        return response

    controller.answer = large
    assert get("x", "-o", "json") == ExitCode.OK
    assert len(capsys.readouterr().out) > 6_000_000


def test_a_kubeconfig_on_the_command_line_comes_before_the_server_of_the_environment(
    get: Get, api: KubeApiDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUPODS_SERVER", "127.0.0.1:1")
    assert get("x") == ExitCode.OK
    assert len(api.forwarded) == 1


def test_kubeconfig_of_the_environment(
    api: KubeApiDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.delenv("GPUPODS_SERVER", raising=False)
    with api.serving(tmp_path) as kubeconfig:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        assert run(["get", "x"], "gpupods") == ExitCode.OK
    assert capsys.readouterr().out.startswith("node gpu-node-1")
