"""The table for people, as whole outputs in tests/golden/cli/ and by its rules."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gpupods.cli.output.columns import Column, Row, join_wrapped, lay_out
from gpupods.cli.output.table import table
from gpupods.cli.question import Question
from gpupods.client.answer import GpuPodsAnswer
from gpupods.client.convert import answer_from
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.unit.gpupods.answers import (
    GPU0,
    SAMPLED,
    TRAIN_UID,
    a100,
    busy_node,
    hostile,
    partial,
    train,
)
from tests.unit.gpupods.golden import check_golden

TRAIN = Question("team-a/train-0")


def text_of(
    response: pb.GetGpuPodsResponse,
    question: Question = TRAIN,
    *,
    wide: bool = False,
    width: int | None = None,
) -> str:
    lines = table(answer_from(response), question, wide=wide, width=width)
    return "\n".join(line.plain for line in lines) + "\n"


def narrowed() -> pb.GetGpuPodsResponse:
    """What the controller leaves of the busy node for --only-this-pod."""
    response = busy_node()
    for uuid in list(response.GpuPods):
        rows = [row for row in response.GpuPods[uuid].pidPods if row.pod_uid == TRAIN_UID]
        del response.GpuPods[uuid]
        if rows:
            response.GpuPods[uuid].pidPods.extend(rows)
    response.unattributed.clear()
    return response


def no_driver() -> pb.GetGpuPodsResponse:
    response = pb.GetGpuPodsResponse(node_name="cpu-node-1")
    response.missing.add(kind=pb.MISSING_KIND_DRIVER, reason="no driver is loaded")
    return response


def unfit() -> pb.GetGpuPodsResponse:
    response = pb.GetGpuPodsResponse(node_name="gpu-node-1", sample_time=SAMPLED)
    response.GpuInfos[GPU0].CopyFrom(a100(GPU0, 0, used=100, usage=0))
    response.GpuInfos[GPU0].health = pb.GPU_HEALTH_UNFIT
    detail = response.GpuInfos[GPU0].health_detail
    detail.reason = "XID 79: the GPU has fallen off the bus"
    detail.action = "restart the node"
    detail.ends = "with a restart of the machine"
    detail.since.CopyFrom(SAMPLED)
    detail.others.append("lost: the driver has lost the GPU")
    response.GpuPods[GPU0].pidPods.extend([train(1, 70), train(2, 40, rank=1)])
    return response


def lost() -> pb.GetGpuPodsResponse:
    response = unfit()
    del response.GpuPods[GPU0]
    info = response.GpuInfos[GPU0]
    for pod in ("train-0", "train-1"):
        info.last_pods.add(namespace="team-a", pod=pod)
    info.last_pods_time.CopyFrom(SAMPLED)
    return response


def restored() -> pb.GetGpuPodsResponse:
    response = unfit()
    response.GpuInfos[GPU0].health = pb.GPU_HEALTH_FIT
    detail = response.GpuInfos[GPU0].health_detail
    detail.reason, detail.operator = "restored by anna: it was the riser", "anna"
    detail.until.CopyFrom(SAMPLED)
    return response


@pytest.mark.parametrize(
    ("name", "make", "question", "wide", "width"),
    [
        ("busy.txt", busy_node, TRAIN, False, None),
        ("busy-wide.txt", busy_node, TRAIN, True, None),
        ("busy-60-columns.txt", busy_node, TRAIN, False, 60),
        ("only-this-pod.txt", narrowed, Question("train-0", only_this_pod=True), False, None),
        ("partial.txt", partial, TRAIN, False, None),
        ("hostile.txt", hostile, TRAIN, True, None),
        ("no-driver.txt", no_driver, TRAIN, False, None),
        ("unfit-and-rounded-up.txt", unfit, Question(TRAIN_UID), False, None),
        ("unfit-wide.txt", unfit, Question(TRAIN_UID), True, None),
        ("fallen-off-the-bus.txt", lost, Question("web"), False, None),
        ("restored.txt", restored, Question(TRAIN_UID), False, None),
    ],
)
def test_golden(
    name: str,
    make: Callable[[], pb.GetGpuPodsResponse],
    question: Question,
    wide: bool,  # noqa: FBT001
    width: int | None,
) -> None:
    check_golden(name, text_of(make(), question, wide=wide, width=width))


@pytest.mark.parametrize("asked", ["team-a/train-0", "train-0", TRAIN_UID])
def test_the_rows_of_the_pod_that_was_asked_for_are_marked(asked: str) -> None:
    marked = [line for line in text_of(busy_node(), Question(asked)).splitlines() if "*" in line]
    assert len(marked) == 2
    assert marked[0].endswith(f"* is {asked}")
    assert "team-a/train-0" in marked[1]


def test_a_namesake_is_not_marked() -> None:
    text = text_of(busy_node(), Question("team-b/train-0"))
    assert "*" not in text
    assert text.endswith("team-b/train-0 has no process on a GPU of this node.\n")


def test_a_pod_without_processes_in_an_answer_that_is_not_whole() -> None:
    text = text_of(partial(), Question("web"))
    assert text.endswith(
        "web has no process on a GPU of this node, as far as could be found out.\n"
    )


def test_nothing_unprintable_gets_through() -> None:
    assert text_of(hostile(), wide=True).replace("\n", "").isprintable()


def test_wide_characters_keep_columns_aligned() -> None:
    response = pb.GetGpuPodsResponse()
    response.GpuPods[GPU0].pidPods.extend([train(1, 5), train(2, 5)])
    response.GpuPods[GPU0].pidPods[0].processName = "訓練"
    rows = [line for line in text_of(response).splitlines() if "trainer" in line]
    assert len({cell_len(row[: row.index("team-a")]) for row in rows}) == 1


names = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=40)


@given(st.lists(names, min_size=4, max_size=4), st.integers(1, 200))
def test_no_width_breaks_a_cell(cells: list[str], width: int) -> None:
    columns = [Column(title, right=title == "B") for title in "ABCD"]
    row = Row(tuple(cells))
    layout = lay_out(columns, [row], width)
    lines = [line.plain for line in layout.render(row)]
    text = " ".join(" ".join(lines).split())
    assert text == " ".join(" ".join(cells).split())
    for line in lines:
        assert cell_len(line) <= width or sum(cell in line for cell in cells) >= 1
    assert [column for line in layout.lines for column in line] == [0, 1, 2, 3]


@given(st.lists(names, min_size=1), st.integers(1, 100))
def test_pieces_are_kept_whole_and_in_order(pieces: list[str], width: int) -> None:
    lines = join_wrapped(pieces, width)
    assert " ".join(" ".join(lines).split()) == " ".join(pieces)
    assert all(cell_len(line) <= width or len(line.split()) == 1 for line in lines)


def test_an_empty_answer_has_a_table() -> None:
    empty = GpuPodsAnswer(node=None, sampled_at=None, gpus=(), missing=())
    lines = [line.plain for line in table(empty, TRAIN)]
    assert lines == [
        "node ?  never sampled: the driver has not answered",
        "",
        "No GPU was found on this node.",
    ]
