"""The API server takes the connection and says nothing: the command ends all the same."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from gpupods.cli import controller_pod
from gpupods.cli.__main__ import run
from gpupods.cli.exit_codes import ExitCode
from tests.unit.gpupods.kube_api_double import KubeApiDouble, kubeconfig_for, pod

READY = pod("controller-0", ports={"grpc": 50050})


def test_the_list_of_pods_never_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(controller_pod, "SETUP_LIMIT_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kubeconfig = kubeconfig_for(tmp_path, silent.getsockname()[1])
        code = run(["get", "x", "--kubeconfig", str(kubeconfig)], "gpupods")
    assert code == ExitCode.NO_ANSWER
    problem, *_ = capsys.readouterr().err.splitlines()
    assert "the Kubernetes API server" in problem


def test_the_websocket_is_never_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(controller_pod, "SETUP_LIMIT_S", 2)
    api = KubeApiDouble(1, [READY], hang_forwards=True)
    with api.serving(tmp_path) as kubeconfig:
        code = run(["get", "x", "--kubeconfig", str(kubeconfig)], "gpupods")
    assert code == ExitCode.NO_ANSWER
    problem, hint = capsys.readouterr().err.splitlines()
    assert problem == ("Error: the Kubernetes API server has not opened a port-forward within 2 s")
    assert "does `kubectl get pods` work?" in hint


def test_the_controller_is_silent_behind_an_open_forward(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        api = KubeApiDouble(silent.getsockname()[1], [READY])
        with api.serving(tmp_path) as kubeconfig:
            arguments = ["get", "x", "--kubeconfig", str(kubeconfig), "--timeout", "500ms"]
            assert run(arguments, "gpupods") == ExitCode.NO_ANSWER
    error = capsys.readouterr().err
    assert error.startswith("Error: the controller in the cluster did not answer within 0.5 s\n")
