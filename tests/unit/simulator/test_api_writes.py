from __future__ import annotations

import pytest

from tests.unit.simulator.api_client import Served

POD = "/api/v1/namespaces/vision/pods/resnet-0"


async def test_a_deleted_pod_is_gone_from_the_node_too() -> None:
    async with Served() as served:
        code, status = await served.send("DELETE", POD)
        assert (code, status["status"]) == (200, "Success")
        assert served.world.cluster.pods == {}
        assert served.world.node.processes == {}
        assert (await served.send("DELETE", POD))[0] == 404


async def test_annotations_are_merged_and_null_takes_one_away() -> None:
    async with Served() as served:
        path = "/api/v1/nodes/gpu-1"
        patch = {"metadata": {"annotations": {"volcano.sh/gpu-unhealthy-ids": "0,3", "a": "b"}}}
        _, node = await served.send("PATCH", path, patch)
        assert node["metadata"]["annotations"] == {"volcano.sh/gpu-unhealthy-ids": "0,3", "a": "b"}
        _, node = await served.send("PATCH", path, {"metadata": {"annotations": {"a": None}}})
        assert node["metadata"]["annotations"] == {"volcano.sh/gpu-unhealthy-ids": "0,3"}
        assert served.world.node.annotations == {"volcano.sh/gpu-unhealthy-ids": "0,3"}


async def test_a_patch_that_changes_nothing_makes_no_version() -> None:
    async with Served() as served:
        before = served.server.store.version
        await served.send("PATCH", POD, {"metadata": {"labels": {"gone": None}}})
        assert served.server.store.version == before


async def test_a_patch_of_an_older_version_is_a_conflict() -> None:
    async with Served() as served:
        patch = {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}
        code, status = await served.send("PATCH", POD, patch)
        assert (code, status["reason"]) == (409, "Conflict")
        assert served.world.pod.labels == {}


@pytest.mark.parametrize(
    "patch", [{"spec": {"nodeName": "x"}}, {"metadata": {"finalizers": ["x"]}}, []]
)
async def test_what_the_simulator_cannot_change_it_refuses(patch: object) -> None:
    async with Served() as served:
        code, _ = await served.send("PATCH", POD, patch)
        assert code in (400, 422)


async def test_a_created_pod_computes_on_the_gpus_it_requests() -> None:
    async with Served() as served:
        container = {
            "name": "main",
            "image": "pytorch",
            "command": ["/usr/bin/python3", "train.py"],
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
        }
        body = {"metadata": {"name": "new"}, "spec": {"containers": [container]}}
        code, pod = await served.send("POST", "/api/v1/namespaces/default/pods", body)
        assert (code, pod["spec"]["nodeName"]) == (201, "gpu-1")
        process = served.world.cluster.pod("default", "new").containers[0].processes[0]
        assert process.name == "python3"
        # The first GPU has one process, the second two.
        assert [use.gpu for use in process.uses] == [served.world.node.gpus[0].uuid]
        code, _ = await served.send("POST", "/api/v1/namespaces/default/pods", body)
        assert code == 409


async def test_a_pod_that_fits_nowhere_stays_pending() -> None:
    async with Served() as served:
        container = {"name": "a", "resources": {"limits": {"nvidia.com/gpu": "3"}}}
        body = {"metadata": {"name": "big"}, "spec": {"containers": [container]}}
        _, pod = await served.send("POST", "/api/v1/namespaces/default/pods", body)
        assert pod["status"]["phase"] == "Pending"
        assert "nodeName" not in pod["spec"]


@pytest.mark.parametrize("body", [[], {}, {"metadata": {"name": "x"}}, {"metadata": 1, "spec": 2}])
async def test_what_is_no_pod_is_refused(body: object) -> None:
    async with Served() as served:
        code, _ = await served.send("POST", "/api/v1/namespaces/default/pods", body)
        assert code == 422


def sharing_pod(name: str, **spec: object) -> dict[str, object]:
    limits = {"volcano.sh/gpu-memory": "4096"}
    container = {"name": "main", "resources": {"limits": limits}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]} | spec}


async def test_a_pod_is_given_no_gpu_that_its_node_calls_unfit() -> None:
    async with Served() as served:
        served.world.node.annotations["volcano.sh/gpu-unhealthy-ids"] = "0"
        path = "/api/v1/namespaces/default/pods"
        _, pod = await served.send("POST", path, sharing_pod("new"))
        assert pod["metadata"]["annotations"]["volcano.sh/gpu-index"] == "1"
        assert (
            pod["spec"]["containers"][0]["resources"]["limits"]["volcano.sh/gpu-memory"] == "4096"
        )
        process = served.world.cluster.pod("default", "new").containers[0].processes[0]
        assert [use.gpu for use in process.uses] == [served.world.node.gpus[1].uuid]
        served.world.node.annotations["volcano.sh/gpu-unhealthy-ids"] = "0,1"
        _, pod = await served.send("POST", path, sharing_pod("none"))
        assert pod["status"]["phase"] == "Pending"


async def test_a_pod_of_another_scheduler_runs_where_that_one_binds_it() -> None:
    async with Served() as served:
        path = "/api/v1/namespaces/default/pods"
        _, pod = await served.send("POST", path, sharing_pod("new", schedulerName="other"))
        assert pod["status"]["phase"] == "Pending"
        chosen = {"volcano.sh/gpu-index": "1"}
        body = {"metadata": {"annotations": chosen}, "target": {"kind": "Node", "name": "gpu-1"}}
        assert (await served.send("POST", f"{path}/new/binding", body))[0] == 201
        _, pod = await served.get(f"{path}/new")
        assert (pod["status"]["phase"], pod["spec"]["nodeName"]) == ("Running", "gpu-1")
        assert pod["metadata"]["annotations"] == chosen
        process = served.world.cluster.pod("default", "new").containers[0].processes[0]
        assert [use.gpu for use in process.uses] == [served.world.node.gpus[1].uuid]
        assert process.started <= served.world.cluster.now()


async def test_a_dry_run_is_refused_not_done() -> None:
    async with Served() as served:
        patch = {"metadata": {"labels": {"a": "b"}}}
        assert (await served.send("PATCH", f"{POD}?dryRun=All", patch))[0] == 400
        assert served.world.pod.labels == {}


async def test_what_only_a_kubelet_takes_away_stays() -> None:
    async with Served() as served:
        path = "/api/v1/nodes/gpu-1"
        label = {"metadata": {"labels": {"kubernetes.io/hostname": None}}}
        assert (await served.send("PATCH", path, label))[0] == 422
        conditions = {"status": {"conditions": [{"type": "GpuUnfit", "status": "True"}]}}
        assert (await served.send("PATCH", f"{path}/status", conditions))[0] == 422
        assert served.world.node.conditions == {}
