"""Messages to values: what is not known is None, and nothing of the answer is lost."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from gpupods.client import convert
from gpupods.client.answer import (
    GpuHealth,
    GpuHealthDetail,
    MigInstance,
    MigMode,
    MissingKind,
    MissingPart,
    Owner,
    ProcessType,
    UnattributedReason,
)
from gpupods.client.convert import answer_from
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.unit.gpupods.answers import GPU0, GPU1, MIG, busy_node, partial


def test_unknown_is_none_and_not_zero() -> None:
    response = pb.GetGpuPodsResponse()
    response.GpuInfos[GPU0].CopyFrom(pb.GpuInfo(uuid=GPU0))
    response.GpuPods[GPU0].pidPods.add(pid=7, pod="p")
    (gpu,) = answer_from(response).gpus
    assert gpu.info.index == 0
    assert gpu.info.name is None
    assert gpu.info.pci_address is None
    assert gpu.info.utilization_percent is None
    assert gpu.info.memory_used_mib is None
    assert gpu.info.memory_total_mib is None
    assert gpu.memory_other_mib is None
    (row,) = gpu.rows
    assert (row.pid, row.pod) == (7, "p")
    assert row.types == ()
    unknown = (row.name, row.memory_mib, row.mig, row.started_at, row.namespace, row.pod_uid)
    assert unknown == (None,) * 6
    assert (row.container_name, row.container_id, row.owner) == (None, None, None)


def test_a_known_zero_stays_zero() -> None:
    response = pb.GetGpuPodsResponse()
    response.GpuInfos[GPU0].CopyFrom(
        pb.GpuInfo(uuid=GPU0, utilization_known=True, memory_known=True)
    )
    response.GpuPods[GPU0].pidPods.add(pid=7, memory_known=True)
    (gpu,) = answer_from(response).gpus
    assert gpu.info.utilization_percent == 0
    assert gpu.info.memory_used_mib == 0
    assert gpu.rows[0].memory_mib == 0
    assert gpu.memory_other_mib == 0


def test_an_empty_answer() -> None:
    answer = answer_from(pb.GetGpuPodsResponse())
    assert (answer.node, answer.sampled_at, answer.gpus, answer.missing) == (None, None, (), ())


def test_rows_of_a_gpu_without_info_are_kept_last() -> None:
    answer = answer_from(partial())
    assert [(gpu.info.uuid, gpu.info.index) for gpu in answer.gpus] == [(GPU0, 0), (GPU1, None)]
    assert answer.gpus[1].rows[0].pod == "train-0"
    assert not answer.complete
    assert answer.missing[0] == MissingPart(MissingKind.GPU, "gpu 1", "it has fallen off the bus")


def test_reading_does_not_change_the_message() -> None:
    response = partial()
    before = response.SerializeToString(deterministic=True)
    answer_from(response)
    assert response.SerializeToString(deterministic=True) == before


def test_memory_is_reconciled() -> None:
    answer = answer_from(busy_node())
    assert [gpu.memory_other_mib for gpu in answer.gpus] == [512, 0, 20480, 0]


def test_mig_owner_and_types() -> None:
    gpus = answer_from(busy_node()).gpus
    (server,) = gpus[1].rows
    assert gpus[1].info.mig_mode is MigMode.ENABLED
    assert server.mig == MigInstance(2, 0, MIG)
    assert server.types == (ProcessType.MPS,)
    assert server.owner == Owner("Deployment", "triton")
    assert gpus[0].rows[1].types == (ProcessType.COMPUTE, ProcessType.GRAPHICS)
    (host,) = gpus[0].unattributed
    assert host.reason is UnattributedReason.HOST_PROCESS
    assert host.detail == "cgroup /system.slice/gdm.service"


def test_why_a_gpu_is_unfit() -> None:
    response = pb.GetGpuPodsResponse()
    response.GpuInfos[GPU0].CopyFrom(pb.GpuInfo(uuid=GPU0, health=pb.GPU_HEALTH_UNFIT))
    detail = response.GpuInfos[GPU0].health_detail
    detail.reason, detail.xid, detail.action, detail.ends = "XID 79: gone", 79, "look", "some day"
    detail.source, detail.operator, detail.recovering = "operator", "anna", True
    detail.others.append("lost: gone")
    detail.since.FromJsonString("2026-11-30T09:00:00Z")
    detail.until.FromJsonString("2026-12-01T09:00:00Z")
    (gpu,) = answer_from(response).gpus
    assert gpu.info.health_detail == GpuHealthDetail(
        reason="XID 79: gone",
        xid=79,
        since=datetime(2026, 11, 30, 9, tzinfo=UTC),
        action="look",
        ends="some day",
        source="operator",
        others=("lost: gone",),
        recovering=True,
        operator="anna",
        until=datetime(2026, 12, 1, 9, tzinfo=UTC),
    )


def test_unset_words_of_a_health_are_none() -> None:
    response = pb.GetGpuPodsResponse()
    response.GpuInfos[GPU0].health_detail.reason = "r"
    detail = answer_from(response).gpus[0].info.health_detail
    assert detail is not None
    assert (detail.xid, detail.since, detail.operator, detail.until) == (None, None, None, None)


def test_numbers_of_a_newer_contract_are_unknown() -> None:
    response = pb.GetGpuPodsResponse()
    response.GpuInfos[GPU0].ParseFromString(
        pb.GpuInfo(uuid=GPU0).SerializeToString() + b"\x50\x63\x58\x63"  # fields 10 and 11: 99
    )
    response.unattributed[GPU0].processes.add().ParseFromString(b"\x10\x63")
    response.missing.add().ParseFromString(b"\x08\x63")
    answer = answer_from(response)
    (gpu,) = answer.gpus
    assert gpu.info.mig_mode is MigMode.UNKNOWN
    assert gpu.info.health is GpuHealth.UNKNOWN
    assert gpu.unattributed[0].reason is UnattributedReason.UNKNOWN
    assert answer.missing[0].kind is MissingKind.UNKNOWN


@pytest.mark.parametrize(
    ("table", "contract"),
    [
        (convert.TYPES, pb.ProcessType),
        (convert.MIG_MODES, pb.MigMode),
        (convert.HEALTHS, pb.GpuHealth),
        (convert.REASONS, pb.UnattributedReason),
        (convert.MISSING_KINDS, pb.MissingKind),
    ],
)
def test_every_value_of_the_contract_has_one_of_ours(
    table: Mapping[int, object], contract: Any
) -> None:
    assert set(table) == set(contract.values()) - {0}
    assert len(set(table.values())) == len(table)
