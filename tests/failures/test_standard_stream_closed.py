"""A program is started without stdin, stdout or stderr, as some service managers do."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.unit.gpupods.answers import busy_node
from tests.unit.gpupods.controller_double import ControllerDouble

SCRIPTS = Path(sysconfig.get_path("scripts"))
LIMIT_S = 120
ALL_CLOSED = "<&- >&- 2>&-"


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run ``line``, in which $0 is the folder of our programs."""
    return subprocess.run(
        ["bash", "-c", line, str(SCRIPTS)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


def test_an_answer_that_finds_no_stdout_is_told() -> None:
    with ControllerDouble(lambda _: busy_node()) as controller:
        done = shell(f"$0/gpupods get x --server {controller.target} >&-")
    assert done.returncode == 1
    assert done.stderr == "Error: stdout cannot be written: Bad file descriptor\n"


def test_help_that_finds_no_stdout_is_told() -> None:
    done = shell("$0/gpupods --help >&-")
    assert done.returncode == 1
    assert done.stderr == "Error: stdout cannot be written: Bad file descriptor\n"


def test_an_answer_needs_neither_stdin_nor_stderr() -> None:
    with ControllerDouble(lambda _: busy_node()) as controller:
        done = shell(f"$0/gpupods get x --server {controller.target} <&- 2>&-")
    assert done.returncode == 0
    assert done.stdout.startswith("node gpu-node-1")


@pytest.mark.parametrize(
    "server",
    [
        "gpupods-nodeagent --runtime-socket= --grpc-listen",
        "gpupods-controller --http-listen 127.0.0.1:0 --kubeconfig $kubeconfig --grpc-listen",
    ],
)
def test_a_server_starts_and_ends_as_usual(server: str, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: c, context: {cluster: c}}]\n"
        "current-context: c\n"
    )
    line = f"""
        kubeconfig={kubeconfig}
        port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1])')
        $0/{server} 127.0.0.1:$port {ALL_CLOSED} &
        for _ in $(seq 600); do
            (: </dev/tcp/127.0.0.1/$port) 2>/dev/null && break
            sleep 0.1
        done
        kill -TERM $!
        wait $!
    """
    assert shell(line).returncode == 0


@pytest.mark.parametrize("closed", ["<&-", "2>&-"])
def test_the_simulator_runs_as_usual(closed: str) -> None:
    done = shell(f"$0/gpupods simulate --once --nodes 1 --pods 3 --cpu-nodes 0 {closed}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "as simulated" in done.stdout
