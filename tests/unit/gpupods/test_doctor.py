"""``gpupods doctor`` from the command line to the exit code, against a real gRPC server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
import yaml

from gpupods.cli.__main__ import run
from gpupods.cli.output.findings import lines
from gpupods.diagnosis import Check, Status, failed, ok, to_message, warning
from gpupods.doctor.report import Finding, Part, Report
from gpupods.v1alpha1 import diagnosis_pb2 as pb
from gpupods.v1alpha1 import diagnosis_pb2_grpc as pb_grpc
from gpupods.version import VERSION

Output = pytest.CaptureFixture[str]
Doctor = Callable[..., int]


class Diagnosed(pb_grpc.DiagnosisServiceServicer):
    """A service that finds what it is told to find."""

    def __init__(self) -> None:
        self.checks: list[Check] = [ok("cache", "3 pods and 1 nodes are known and followed")]
        self.nodes: dict[str, list[Check]] = {"gpu-1": [ok("driver", "the driver answers")]}
        self.version = VERSION
        self.ahead_s = 0.0
        self.refuses: grpc.StatusCode | None = None
        self.target = ""
        self.node_name = "gpu-1"

    def Diagnose(  # noqa: N802 - the contract's name
        self, request: pb.DiagnoseRequest, context: grpc.ServicerContext
    ) -> pb.DiagnoseResponse:
        if self.refuses is not None:
            context.abort(self.refuses, "not today")
        nodes = [
            pb.NodeDiagnosis(node_name=name, address="10.0.0.1:50051", checks=map(to_message, each))
            for name, each in self.nodes.items()
        ]
        answer = pb.DiagnoseResponse(
            version=self.version,
            checks=map(to_message, self.checks),
            nodes=nodes,
            node_name=self.node_name,
        )
        answer.answered_at.FromNanoseconds(int((time.time() + self.ahead_s) * 1e9))
        return answer


@pytest.fixture
def service() -> Iterator[Diagnosed]:
    diagnosed = Diagnosed()
    server = grpc.server(ThreadPoolExecutor(2))
    pb_grpc.add_DiagnosisServiceServicer_to_server(diagnosed, server)
    diagnosed.target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield diagnosed
    server.stop(None).wait()


@pytest.fixture
def doctor(service: Diagnosed, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    """Run ``gpupods doctor ...`` with the double as the server of the environment."""
    monkeypatch.setenv("GPUPODS_SERVER", service.target)
    return lambda *arguments: run(["doctor", *arguments], "gpupods")


def test_all_is_well(doctor: Doctor, service: Diagnosed, capsys: Output) -> None:
    assert doctor() == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        f"controller at {service.target}",
        "  ok       controller  answers",
        f"  ok       version     {VERSION}",
        "  ok       clock       within 1 s of the one here",
        "  ok       cache       3 pods and 1 nodes are known and followed",
        "1 node is well: gpu-1",
        "",
        "5 checks: 5 ok",
    ]
    assert printed.err == ""


def test_a_warning_is_shown_and_fails_nothing(
    doctor: Doctor, service: Diagnosed, capsys: Output
) -> None:
    service.nodes["gpu-1"] = [warning("cgroups", "v2, drivers disagree", "have both use one")]
    assert doctor() == 0
    printed = capsys.readouterr().out
    assert "node gpu-1 at 10.0.0.1:50051" in printed
    assert "  WARNING  cgroups     v2, drivers disagree" in printed
    assert " to do: have both use one" in printed
    assert "5 checks: 4 ok, 1 warning" in printed


def test_a_failed_check_is_1(doctor: Doctor, service: Diagnosed, capsys: Output) -> None:
    service.checks = [failed("rights", "the controller may not watch nodes", "bind the role")]
    assert doctor() == 1
    printed = capsys.readouterr().out
    assert "  FAILED   rights      the controller may not watch nodes" in printed
    assert " to do: bind the role" in printed
    assert printed.endswith("5 checks: 4 ok, 1 failed\n")


def test_wide_shows_nodes_that_are_well(doctor: Doctor, capsys: Output) -> None:
    assert doctor("-o", "wide") == 0
    assert "  ok       driver      the driver answers" in capsys.readouterr().out


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_documents(
    doctor: Doctor, service: Diagnosed, capsys: Output, output: str, read: Callable[[str], object]
) -> None:
    service.checks = [failed("rights", "none", "bind")]
    assert doctor("-o", output) == 1
    document = read(capsys.readouterr().out)
    assert isinstance(document, dict)
    assert document["status"] == "failed"
    assert document["checks"][3] == {
        "part": "controller",
        "subject": "",
        "address": service.target,
        "name": "rights",
        "status": "failed",
        "found": "none",
        "advice": "bind",
    }
    assert document["checks"][4]["subject"] == "gpu-1"


def test_another_version_and_a_wrong_clock_are_warnings(
    doctor: Doctor, service: Diagnosed, capsys: Output
) -> None:
    service.version, service.ahead_s = "9.9.9", 3600.0
    assert doctor() == 0
    printed = capsys.readouterr().out
    assert f"9.9.9, and that of this command is {VERSION}" in printed
    assert "s ahead of the one here" in printed


def test_one_agent_alone(
    doctor: Doctor, service: Diagnosed, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GPUPODS_SERVER")
    service.checks = [failed("host pids", "the agent sees no process", "set hostPID: true")]
    assert doctor("--agent", service.target) == 1
    printed = capsys.readouterr().out
    assert printed.startswith(f"node gpu-1 at {service.target}\n  ok       agent      answers\n")
    assert "hostPID" in printed


@pytest.mark.parametrize("nodes", [{}, {"gpu-1": [ok("driver", "the driver answers")]}])
def test_a_controller_is_no_agent(
    doctor: Doctor, service: Diagnosed, capsys: Output, nodes: dict[str, list[Check]]
) -> None:
    service.node_name, service.nodes = "", nodes
    assert doctor("--agent", service.target, "-o", "json") == 1
    (check,) = json.loads(capsys.readouterr().out)["checks"]
    assert check["found"] == f"{service.target} is a controller, and no node agent"
    assert f"gpupods doctor --server {service.target}" in check["advice"]


def test_an_agent_without_a_name_is_an_agent(
    doctor: Doctor, service: Diagnosed, capsys: Output
) -> None:
    service.node_name, service.nodes = "", {}
    service.checks = [ok("driver", "the driver answers")]
    assert doctor("--agent", service.target, "-o", "wide") == 0
    assert "(its name is not set)" in capsys.readouterr().out


def test_the_agent_here_is_meant_where_none_is_named(doctor: Doctor, capsys: Output) -> None:
    assert doctor("--agent", "--timeout", "2s", "-o", "json") in (0, 1)
    first = json.loads(capsys.readouterr().out)["checks"][0]
    assert (first["part"], first["address"]) == ("node", "127.0.0.1:50051")


def test_it_runs_in_the_image_of_the_node_agent(service: Diagnosed) -> None:
    """Which has neither a Kubernetes client nor an HTTP library."""
    program = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('kubernetes', 'aiohttp')))\n"
        "from gpupods.cli.__main__ import main\n"
        "main()"
    )
    words = [sys.executable, "-c", program, "doctor", "--agent", service.target]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 node is well: gpu-1" in done.stdout


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (grpc.StatusCode.UNIMPLEMENTED, "upgrade it"),
        (grpc.StatusCode.UNAVAILABLE, "its gRPC port"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "--timeout"),
        (grpc.StatusCode.INTERNAL, ""),
    ],
)
def test_a_controller_that_does_not_answer_is_a_finding(
    doctor: Doctor, service: Diagnosed, capsys: Output, code: grpc.StatusCode, advice: str
) -> None:
    service.refuses = code
    assert doctor("-o", "json") == 1
    (check,) = json.loads(capsys.readouterr().out)["checks"]
    assert (check["name"], check["status"]) == ("controller", "failed")
    assert service.target in check["found"]
    assert advice in check["advice"]


def test_nobody_listens(doctor: Doctor, capsys: Output) -> None:
    assert doctor("--server", "127.0.0.1:1") == 1
    assert "was not reached" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "xml"], "'xml' is not one of"),
        (["--agent", "nowhere"], "no port"),
        (["--agent", "a:1", "--server", "b:1"], "either --server or --agent"),
        (["--timeout", "0"], "more than 0"),
        (["--no-such-flag"], "--no-such-flag"),
    ],
)
def test_a_wrong_command_line_is_2(
    doctor: Doctor, capsys: Output, arguments: list[str], words: str
) -> None:
    assert doctor(*arguments) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.out == ""


def test_without_anything_to_examine_it_is_2(
    capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GPUPODS_SERVER", raising=False)
    broken = tmp_path / "kubeconfig"
    broken.write_text("clusters: [")
    assert run(["doctor", "--kubeconfig", str(broken)], "gpupods") == 2
    printed = capsys.readouterr()
    assert str(broken) in printed.err
    assert printed.out == ""


def report(*checks: Check) -> Report:
    return Report(tuple(Finding(Part.NODE, "n1", "10.0.0.1:50051", check) for check in checks))


def test_on_a_terminal_long_lines_are_wrapped_under_themselves() -> None:
    long = failed("driver", "word " * 20, "act " * 20)
    printed = [line.plain for line in lines(report(long), wide=False, width=70)]
    assert all(len(line) <= 70 for line in printed)
    assert printed[1].startswith("  FAILED   driver  word")
    assert printed[2].startswith(" " * 19 + "word")


def test_what_others_wrote_cannot_steer_the_terminal() -> None:
    hostile = failed("driver", "a\x1b[2Jb\nc", "d\x1b]0;x\x07")
    printed = "".join(line.plain for line in lines(report(hostile), wide=False, width=None))
    assert "\x1b" not in printed
    assert "\x07" not in printed


def test_several_warnings_are_counted_in_the_plural() -> None:
    two = report(warning("a", "b", "c"), warning("d", "e", "f"))
    assert lines(two, wide=False, width=None)[-1].plain == "2 checks: 2 warnings"


def test_the_worst_counts() -> None:
    assert Report(()).status is Status.OK
    assert report(ok("a", "b"), warning("c", "d", "e")).status is Status.WARNING
    assert report(failed("a", "b", "c"), ok("a", "b")).status is Status.FAILED
