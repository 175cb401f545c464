"""The port-forward opens, and then its connection breaks or leads nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpupods.cli.__main__ import run
from gpupods.cli.exit_codes import ExitCode
from tests.unit.gpupods.answers import busy_node
from tests.unit.gpupods.controller_double import ControllerDouble
from tests.unit.gpupods.kube_api_double import KubeApiDouble, pod

READY = pod("controller-0", ports={"grpc": 50050})
LIMIT_S = 30


def test_nobody_listens_in_the_pod(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    api = KubeApiDouble(1, [READY])
    with api.serving(tmp_path) as kubeconfig:
        code = run(["get", "x", "--kubeconfig", str(kubeconfig)], "gpupods")
        assert api.wait_until_all_closed(LIMIT_S)
    assert code == ExitCode.NO_ANSWER
    error = capsys.readouterr().err
    assert error.startswith("Error: the port-forward broke: error forwarding port: ")
    assert "Traceback" not in error


@pytest.mark.parametrize("tls", [False, True])
def test_the_api_server_drops_the_connection(
    tls: bool,  # noqa: FBT001
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ControllerDouble(lambda _: busy_node()) as controller:
        api = KubeApiDouble(controller.port, [READY], break_after=0)
        with api.serving(tmp_path, tls=tls) as kubeconfig:
            code = run(["get", "x", "--kubeconfig", str(kubeconfig)], "gpupods")
            assert api.wait_until_all_closed(LIMIT_S)
    assert code == ExitCode.NO_ANSWER
    error = capsys.readouterr().err
    assert error.startswith("Error: the port-forward broke: ")
    assert "Traceback" not in error


def test_a_connection_that_breaks_once_is_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ControllerDouble(lambda _: busy_node()) as controller:
        api = KubeApiDouble(controller.port, [READY], break_after=0, breaks=1)
        with api.serving(tmp_path) as kubeconfig:
            code = run(["get", "x", "--kubeconfig", str(kubeconfig)], "gpupods")
    assert code == ExitCode.OK
    assert len(api.forwarded) > 1
    assert capsys.readouterr().err == ""
