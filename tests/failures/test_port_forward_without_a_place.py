"""There is no place for the port-forward's socket: said as it is, and nothing is left behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from gpupods.cli.__main__ import run
from gpupods.cli.exit_codes import ExitCode
from tests.unit.gpupods.kube_api_double import KubeApiDouble, pod

TOO_LONG = "x" * 100


@pytest.mark.parametrize("folder", [TOO_LONG, "not-there"])
def test_the_temporary_folder_will_not_do(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GPUPODS_SERVER", raising=False)
    scratch = tmp_path / folder
    if folder == TOO_LONG:
        scratch.mkdir()
    api = KubeApiDouble(1, [pod("controller-0", ports={"grpc": 50050})])
    with api.serving(tmp_path) as kubeconfig:
        monkeypatch.setattr(tempfile, "tempdir", str(scratch))
        code = run(["get", "x", "--kubeconfig", str(kubeconfig)], "gpupods")
        monkeypatch.undo()
    problem, hint = capsys.readouterr().err.splitlines()
    assert code == ExitCode.REFUSED
    assert problem.startswith("Error: a port-forward needs a socket in the temporary folder: ")
    assert "TMPDIR" in hint
    assert api.forwarded == []
    assert not scratch.exists() or list(scratch.glob("gpupods-*")) == []
