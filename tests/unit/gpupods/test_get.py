"""``gpupods get`` from the command line to the exit code, against a real gRPC server."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

import grpc
import pytest
import yaml

from controller.cache.cluster import NODES, PODS, ClusterCache
from controller.resolve import resolve
from gpupods.cli.__main__ import run
from gpupods.cli.exit_codes import ExitCode
from gpupods.errors import Reason, StatusError, failed_precondition, not_found, unavailable
from gpupods.v1alpha1 import gpupods_pb2 as pb
from nodeagent.pod_map import parse_pod_map
from tests.unit.gpupods.answers import partial
from tests.unit.gpupods.controller_double import ControllerDouble, failing

Get = Callable[..., ExitCode]
Output = pytest.CaptureFixture[str]


@pytest.fixture
def get(controller: ControllerDouble, monkeypatch: pytest.MonkeyPatch) -> Get:
    """Run ``gpupods get ...`` with the double as the server of the environment."""
    monkeypatch.setenv("GPUPODS_SERVER", controller.target)
    return lambda *arguments: ExitCode(run(["get", *arguments], "gpupods"))


def test_a_table_on_stdout_and_nothing_else(get: Get, capsys: Output) -> None:
    assert get("team-a/train-0") is ExitCode.OK
    output = capsys.readouterr()
    assert output.out.startswith("node gpu-node-1  sampled 2026-11-30 09:00:00Z")
    assert output.err == ""


def test_wide_has_more(get: Get, capsys: Output) -> None:
    assert get("train-0", "-o", "wide") is ExitCode.OK
    assert "cgroup /system.slice/gdm.service" in capsys.readouterr().out


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_documents(
    get: Get, capsys: Output, output: str, read: Callable[[str], dict[str, object]]
) -> None:
    assert get("train-0", "-o", output) is ExitCode.OK
    assert read(capsys.readouterr().out)["nodeName"] == "gpu-node-1"


@pytest.mark.parametrize(
    ("arguments", "worker_id"),
    [
        (["train-0"], "train-0"),
        (["team-a/train-0"], "team-a/train-0"),
        (["train-0", "-n", "team-a"], "team-a/train-0"),
        (["team-a/train-0", "--namespace", "team-a"], "team-a/train-0"),
    ],
)
def test_how_a_pod_may_be_named(
    get: Get, controller: ControllerDouble, arguments: list[str], worker_id: str
) -> None:
    assert get(*arguments) is ExitCode.OK
    assert controller.requests == [pb.GetGpuPodsRequest(worker_id=worker_id)]


def test_options_reach_the_server(get: Get, controller: ControllerDouble) -> None:
    assert get("x", "--only-this-pod", "--max-age", "1.5s", "--timeout", "1m") is ExitCode.OK
    assert controller.requests == [
        pb.GetGpuPodsRequest(worker_id="x", only_this_pod=True, max_age_ms=1500)
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "Missing argument 'POD'"),
        (["b/x", "-n", "a"], "POD says namespace 'b', --namespace 'a'"),
        (["x", "-o", "xml"], "'xml' is not one of"),
        (["x", "--timeout", "soon"], "'soon' is not a duration: write 5s, 500ms or 1.5m"),
        (["x", "--timeout", "0"], "give more than 0 seconds"),
        (["x", "--server", "nowhere"], "'nowhere' has no port"),
        (["x", "--server", "a:1", "--context", "c"], "give either --server, or --kubeconfig"),
        (["x", "--controller-port", "0"], "0 is not in the range"),
        (["x", "--kubeconfig", "/nonexistent"], "File '/nonexistent' does not exist"),
        (["\udcff"], "POD and --namespace are names"),
        (["x\x1b[2J"], "POD and --namespace are names"),
        (["x", "--timeout", "8d"], "give at most 7 days"),
        (["x", "--timeout", "9" * 400], "give at most 7 days"),
        (["x", "--max-age", "50d"], "give at most 49 days"),
        (["x", "--controller-namespace", "\udcff"], "bytes that are no text"),
        (["pod", "train-0"], "extra argument (train-0): write the pod's name alone."),
        (["pods", "train-0", "-n", "team-a"], "(train-0): write the pod's name alone."),
        (["node", "gpu-node-1"], "(gpu-node-1): a node's GPUs: gpupods gpu list NODE."),
        (["train-0", "train-1"], "Got unexpected extra argument (train-1)"),
    ],
)
def test_wrong_command_lines(
    get: Get, controller: ControllerDouble, capsys: Output, arguments: list[str], complaint: str
) -> None:
    assert get(*arguments) is ExitCode.USAGE
    output = capsys.readouterr()
    assert complaint in output.err
    assert output.out == ""
    assert controller.requests == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (not_found("there is no pod named 'x'"), ExitCode.REFUSED),
        (failed_precondition("2 pods are named x", Reason.AMBIGUOUS_POD), ExitCode.REFUSED),
        (StatusError(grpc.StatusCode.PERMISSION_DENIED, "not yours"), ExitCode.REFUSED),
        (StatusError(grpc.StatusCode.INTERNAL, "KeyError"), ExitCode.REFUSED),
        (unavailable("cache not synced"), ExitCode.NO_ANSWER),
        (StatusError(grpc.StatusCode.DEADLINE_EXCEEDED, "agent late"), ExitCode.NO_ANSWER),
    ],
)
def test_an_error_is_one_line_on_stderr(
    get: Get, controller: ControllerDouble, capsys: Output, error: StatusError, code: ExitCode
) -> None:
    controller.answer = failing(error)
    assert get("x") is code
    output = capsys.readouterr()
    assert output.err.splitlines()[0] == f"Error: {error.message}"
    assert output.out == ""


def test_an_error_message_cannot_steer_the_terminal(
    get: Get, controller: ControllerDouble, capsys: Output
) -> None:
    controller.answer = failing(not_found("no\x1b[2J\r\npod"))
    assert get("x") is ExitCode.REFUSED
    assert capsys.readouterr().err == "Error: no\\x1b[2J pod\n"


def test_a_pod_named_as_in_kubectl(get: Get, controller: ControllerDouble, capsys: Output) -> None:
    controller.answer = failing(not_found("there is no pod 'train-0' in namespace 'pod'"))
    assert get("pod/train-0") is ExitCode.REFUSED
    assert "write the pod's name alone" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["pod"], ["pods"], ["po", "-n", "team-a"]])
def test_a_kind_instead_of_a_name(
    get: Get, controller: ControllerDouble, capsys: Output, arguments: list[str]
) -> None:
    controller.answer = failing(not_found("there is no such pod"))
    assert get(*arguments) is ExitCode.REFUSED
    assert "Hint: write the pod's name alone" in capsys.readouterr().err


@pytest.mark.parametrize("pod", ["a b", "Train-0", "x" * 600, "{}", "a/b/c"])
def test_what_can_be_no_pod_is_told_in_the_commands_own_words(
    get: Get, controller: ControllerDouble, capsys: Output, pod: str
) -> None:
    known = ClusterCache()
    known.report_listed(PODS)
    known.report_listed(NODES)
    with pytest.raises(StatusError) as refused:
        resolve(pod, known)
    assert "worker_id" in refused.value.message
    controller.answer = failing(refused.value)
    assert get(pod) is ExitCode.REFUSED
    error = capsys.readouterr().err
    assert 'POD is "namespace/name", "name" or its uid' in error
    assert "worker_id" not in error


def test_a_node_agent_is_asked_for_a_pod(
    get: Get, controller: ControllerDouble, capsys: Output
) -> None:
    with pytest.raises(StatusError) as refused:
        parse_pod_map("team-a/train-0")
    controller.answer = failing(refused.value)
    assert get("team-a/train-0") is ExitCode.REFUSED
    assert "is a node agent, and knows no pods by their names: ask a controller" in (
        capsys.readouterr().err
    )


def test_nobody_listens(get: Get, capsys: Output) -> None:
    assert get("x", "--server", "127.0.0.1:1") is ExitCode.NO_ANSWER
    problem, hint = capsys.readouterr().err.splitlines()
    assert problem.startswith("Error: 127.0.0.1:1 was not reached: ")
    assert "GPUPODS_SERVER" in hint


def test_the_http_port_instead_of_the_grpc_port(get: Get, capsys: Output) -> None:
    class Http(StreamRequestHandler):
        def handle(self) -> None:
            self.rfile.readline()
            self.wfile.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with ThreadingTCPServer(("127.0.0.1", 0), Http) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        code = get("x", "--server", f"127.0.0.1:{server.server_address[1]}")
        server.shutdown()
        thread.join()
    assert code is ExitCode.NO_ANSWER
    assert "--server is its gRPC port" in capsys.readouterr().err


def test_too_late(get: Get, controller: ControllerDouble, capsys: Output) -> None:
    controller.answer = controller.hang
    assert get("x", "--timeout", "200ms") is ExitCode.NO_ANSWER
    assert capsys.readouterr().err.splitlines() == [
        f"Error: {controller.target} did not answer within 0.2 s",
        "Hint: --timeout 0.8s waits longer",
    ]


@pytest.mark.parametrize(
    ("arguments", "code"), [([], ExitCode.OK), (["--strict"], ExitCode.INCOMPLETE)]
)
def test_a_partial_answer_is_an_answer_and_says_so(
    get: Get, controller: ControllerDouble, capsys: Output, arguments: list[str], code: ExitCode
) -> None:
    controller.answer = lambda _: partial()
    assert get("team-a/train-0", *arguments) is code
    output = capsys.readouterr()
    assert "team-a/train-0  trainer" in output.out
    assert output.err.splitlines() == [
        "Warning: missing: gpu 1: it has fallen off the bus",
        "Warning: missing: container 3f2a9c: its shim did not answer within 2 s",
    ]


def test_a_partial_document_says_so_itself(
    get: Get, controller: ControllerDouble, capsys: Output
) -> None:
    controller.answer = lambda _: partial()
    assert get("train-0", "-o", "json", "--strict") is ExitCode.INCOMPLETE
    output = capsys.readouterr()
    assert len(json.loads(output.out)["missing"]) == 2
    assert output.err == ""


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "no such file. Name one that exists, or set KUBECONFIG"),
        ("", "file is empty"),
        ("{", "not YAML: "),
        ("[]", "not a kubeconfig"),
        ("contexts: 7", ""),
    ],
)
def test_without_a_server_and_a_usable_kubeconfig(
    content: str | None,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Output,
    tmp_path: Path,
) -> None:
    monkeypatch.delenv("GPUPODS_SERVER", raising=False)
    path = tmp_path / "config"
    monkeypatch.setenv("KUBECONFIG", str(path))
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert run(["get", "x"], "gpupods") == ExitCode.REFUSED
    problem, hint = capsys.readouterr().err.splitlines()
    assert problem.startswith(
        f"Error: no server was named, and no cluster can be asked: kubeconfig {path}: "
    )
    assert why in problem
    assert "--server" in hint
    assert "gpupods simulate" in hint


def test_a_context_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, capsys: Output, tmp_path: Path
) -> None:
    monkeypatch.delenv("GPUPODS_SERVER", raising=False)
    path = tmp_path / "config"
    contexts = [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("a", "b")]
    content = {"contexts": contexts, "current-context": "a", "clusters": [], "users": []}
    path.write_text(json.dumps(content))
    words = ["get", "x", "--kubeconfig", str(path), "--context", "nope"]
    assert run(words, "gpupods") == ExitCode.REFUSED
    problem, hint = capsys.readouterr().err.splitlines()
    assert problem.endswith(f"kubeconfig {path}, context nope: no context 'nope'. It has a, b")
    assert "--server" in hint


def test_a_kubeconfig_comes_before_the_pod_that_the_command_runs_in(
    monkeypatch: pytest.MonkeyPatch, capsys: Output, tmp_path: Path
) -> None:
    """As for kubectl, and as for `gpupods gpu exclude`: both must speak of one cluster."""
    monkeypatch.delenv("GPUPODS_SERVER", raising=False)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube/config").write_text("{}")
    assert run(["get", "x"], "gpupods") == ExitCode.REFUSED
    assert "kubeconfig ~/.kube/config: " in capsys.readouterr().err


def test_there_is_no_way_to_any_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: Output, tmp_path: Path
) -> None:
    for name in ("GPUPODS_SERVER", "KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(["get", "x"], "gpupods") == ExitCode.REFUSED
    assert "KUBECONFIG is not set, ~/.kube/config does not exist" in capsys.readouterr().err
