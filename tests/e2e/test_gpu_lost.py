"""A GPU falls off the bus while the agent runs, and comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.e2e.comparing import as_json, clear_health, missing_parts
from tests.e2e.scene import Scene
from tests.e2e.truth import unread_gpu
from tests.e2e.world import World
from tests.fakedriver.scenario import Gpu

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    "leave",
    [partial(replace, lost=True), partial(replace, enumerated=False)],
    ids=["lost", "no longer listed"],
)
def test_it_stays_in_the_answer_and_is_named_as_missing(
    leave: Callable[[Gpu], Gpu], scene: Scene, standing: World
) -> None:
    pod = scene.pod("team-a", "on-two-gpus")
    for number in range(3):
        scene.put(number, pod.process(number))
    standing.wait_for_truth(pod.ref)
    truth = scene.truth()
    gpu = standing.driver.scenario.gpus[1]

    with standing.watch(pod.ref) as watch:
        standing.driver.change(lambda now: now.with_gpu(gpu.uuid, leave))
        answer = standing.wait_for(
            pod.ref, lambda got: bool(got.missing), what=f"{gpu.uuid} to be missing"
        )
        assert [(kind, subject) for kind, subject, _ in missing_parts(answer)] == [
            ("GPU", gpu.uuid)
        ]
        lost = answer.GpuInfos[gpu.uuid]
        assert [f"{last.namespace}/{last.pod}" for last in lost.last_pods] == [pod.ref]
        assert lost.HasField("last_pods_time")
        for info in answer.GpuInfos.values():
            clear_health(info)
        assert as_info(answer.GpuInfos[gpu.uuid]) == as_info(unread_gpu(1, gpu))
        for index, other in enumerate(standing.driver.scenario.gpus):
            if index != 1:
                assert answer.GpuInfos[other.uuid] == truth.GpuInfos[other.uuid]
                assert [row.pid for row in answer.GpuPods[other.uuid].pidPods] == [
                    row.pid for row in truth.GpuPods[other.uuid].pidPods
                ]
        assert gpu.uuid not in answer.GpuPods
        standing.driver.change(lambda now: now.with_gpu(gpu.uuid, lost=False, enumerated=True))
        standing.wait_for_truth(pod.ref)
    watch.assert_honest(truth)
    assert watch.errors == []


def as_info(info: pb.GpuInfo) -> object:
    return as_json(pb.GetGpuPodsResponse(GpuInfos={info.uuid: info}))
