"""``gpupods gpu list`` from the command line to the exit code, against a real gRPC server."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml

from gpupods import Client, GpuHealth, GpuSource, MissingKind, NodeNotFound
from gpupods.cli.__main__ import run
from gpupods.cli.exit_codes import ExitCode
from gpupods.cli.output.gpu_list import gpu_table, remarks
from gpupods.client.convert_list import list_from
from gpupods.errors import Reason, StatusError, not_found
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import health_pb2
from tests.unit.gpupods.controller_double import ControllerDouble
from tests.unit.gpupods.golden import check_golden
from tests.unit.gpupods.listed_gpus import cluster, gpu

List = Callable[..., ExitCode]
Output = pytest.CaptureFixture[str]


@pytest.fixture
def list_gpus(controller: ControllerDouble, monkeypatch: pytest.MonkeyPatch) -> List:
    """Run ``gpupods gpu list ...`` with the double as the server of the environment."""
    controller.list_answer = lambda _: cluster()
    monkeypatch.setenv("GPUPODS_SERVER", controller.target)
    return lambda *arguments: ExitCode(run(["gpu", "list", *arguments], "gpupods"))


def printed(*, wide: bool = False, width: int | None = None) -> str:
    answer = list_from(cluster())
    lines = [line.plain for line in gpu_table(answer, wide=wide, width=width)]
    return "\n".join([*lines, "", *remarks(answer, only_unfit=False)]) + "\n"


@pytest.mark.parametrize(
    ("name", "wide", "width"),
    [
        ("gpu-list.txt", False, None),
        ("gpu-list-wide.txt", True, None),
        ("gpu-list-120-columns.txt", False, 120),
        ("gpu-list-60-columns.txt", False, 60),
    ],
)
def test_the_table(name: str, *, wide: bool, width: int | None) -> None:
    check_golden(name, printed(wide=wide, width=width))


def test_the_table_on_stdout_and_what_is_missing_on_stderr(list_gpus: List, capsys: Output) -> None:
    assert list_gpus() is ExitCode.OK
    output = capsys.readouterr()
    assert output.out == printed()
    assert output.err.splitlines() == [
        "Warning: missing: node node-1: GPU-node-1-1: GPU 1 is lost",
        "Warning: missing: node node-3: its agent was not reached",
        "Warning: missing: pod: pods as of 20 s ago",
    ]


def test_strict(list_gpus: List, controller: ControllerDouble) -> None:
    assert list_gpus("--strict") is ExitCode.INCOMPLETE
    controller.list_answer = lambda _: health_pb2.ListGpusResponse(nodes=1)
    assert list_gpus("--strict") is ExitCode.OK


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_documents(
    list_gpus: List, capsys: Output, output: str, read: Callable[[str], dict[str, object]]
) -> None:
    assert list_gpus("-o", output) is ExitCode.OK
    document = read(capsys.readouterr().out)
    assert document["nodes"] == 3
    assert len(document["gpus"]) == 7  # type: ignore[arg-type]


def test_the_question(list_gpus: List, controller: ControllerDouble) -> None:
    assert list_gpus("n1", "n2", "--unfit", "--max-age", "2s") is ExitCode.OK
    assert controller.list_requests == [
        health_pb2.ListGpusRequest(node_names=["n1", "n2"], only_unfit=True, max_age_ms=2000)
    ]


@pytest.mark.parametrize("name", ["\udcff", "n\x1b[2J", "", ".", "..", "a/b", "node/n1", "N1"])
def test_a_name_that_no_node_can_have(
    list_gpus: List, controller: ControllerDouble, capsys: Output, name: str
) -> None:
    assert list_gpus(name) is ExitCode.USAGE
    assert "Invalid value for '[NODE]...'" in capsys.readouterr().err
    assert controller.list_requests == []


def test_a_node_that_is_not_there(
    list_gpus: List, controller: ControllerDouble, capsys: Output
) -> None:
    def refuse(_: object) -> health_pb2.ListGpusResponse:
        error = not_found("the cluster has no node 'n9'; there is n1")
        raise StatusError(error.code, error.message, Reason.NODE_NOT_FOUND)

    controller.list_answer = refuse
    assert list_gpus("n9") is ExitCode.REFUSED
    assert capsys.readouterr().err == "Error: the cluster has no node 'n9'; there is n1\n"
    with Client(controller.target) as client, pytest.raises(NodeNotFound):
        client.list_gpus(["n9"])


@pytest.mark.parametrize(
    ("response", "only_unfit", "said"),
    [
        (health_pb2.ListGpusResponse(), False, "No node is known to have GPUs"),
        (health_pb2.ListGpusResponse(nodes=2, gpus_known=16), True, "0 of 16 GPUs on 2 nodes are"),
        (
            health_pb2.ListGpusResponse(nodes=1, gpus_known=1, gpus=[gpu("n", 0)]),
            False,
            "1 GPU on 1 node, none of them unfit.",
        ),
    ],
)
def test_what_is_said_of_it_all(
    response: health_pb2.ListGpusResponse, said: str, *, only_unfit: bool
) -> None:
    assert said in "\n".join(remarks(list_from(response), only_unfit=only_unfit))


def test_where_schedulers_have_been_told_something_else() -> None:
    untold = gpu("n1", 0, pb.GPU_HEALTH_UNFIT, announced=False)
    held_back = gpu("n1", 1, pb.GPU_HEALTH_FIT, announced=True)
    response = health_pb2.ListGpusResponse(nodes=1, gpus_known=2, gpus=[untold, held_back])
    _, first, second = remarks(list_from(response), only_unfit=False)
    assert first.startswith("n1 GPU 0: its agent says unfit, its Node does not (yet)")
    assert "--report" in first
    assert second.startswith("n1 GPU 1: its agent says fit")


def test_names_of_others_cannot_steer_the_terminal() -> None:
    bad = gpu("n1", 0, pb.GPU_HEALTH_UNFIT, pb.GpuHealthDetail(reason="a\x1b[2J\nb"))
    response = health_pb2.ListGpusResponse(nodes=1, gpus=[bad])
    text = "".join(line.plain for line in gpu_table(list_from(response), wide=True, width=None))
    assert "\x1b" not in text
    assert "a\\x1b[2J b" in text


def test_what_a_client_gets(controller: ControllerDouble) -> None:
    controller.list_answer = lambda _: cluster()
    with Client(controller.target) as client:
        answer = client.list_gpus(only_unfit=True, max_age_s=1.5)
    assert not answer.complete
    first, lost, *_, away = answer.gpus
    assert [str(pod.ref) for pod in first.pods or ()] == ["team-a/train-0", "shop/web-1"]
    assert lost.unfit
    assert lost.pods is None
    assert (away.source, away.sampled_at is None) == (GpuSource.NODE_OBJECT, False)
    assert away.info.name is None
    assert away.info.memory_total_mib is None
    assert [gpu.info.health for gpu in answer.gpus].count(GpuHealth.UNFIT) == 4
    of_gpu, of_node, of_cluster = answer.missing
    assert of_gpu.part is not None
    assert of_gpu.part.kind is MissingKind.GPU
    assert (of_node.node, of_node.part) == ("node-3", None)
    assert of_cluster.node is None
