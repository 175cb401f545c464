from __future__ import annotations

from simulator.changes import add_node, delete_pod, start_pod
from simulator.plans import PodPlan
from tests.unit.simulator.api_client import Served
from tests.unit.simulator.small import LOGGER

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def more_pods(served: Served, count: int) -> None:
    for number in range(count):
        start_pod(
            served.world.cluster,
            served.world.node,
            PodPlan("web", f"web-{number}", (LOGGER,), labels={"app": "web"}),
        )


def names(page: dict[str, list[dict[str, dict[str, str]]]]) -> list[str]:
    return [item["metadata"]["name"] for item in page["items"]]


async def test_a_pod_has_what_informers_read() -> None:
    async with Served() as served:
        code, pods = await served.get("/api/v1/pods")
        assert (code, pods["kind"], len(pods["items"])) == (200, "PodList", 1)
        pod, world = pods["items"][0], served.world
        assert "kind" not in pod
        assert pod["metadata"]["uid"] == world.pod.uid
        assert pod["spec"]["nodeName"] == "gpu-1"
        assert [each["containerID"] for each in pod["status"]["containerStatuses"]] == [
            f"containerd://{container.id}" for container in world.pod.containers
        ]
        assert int(pods["metadata"]["resourceVersion"]) >= int(pod["metadata"]["resourceVersion"])


async def test_a_node_has_its_internal_addresses_and_gpus() -> None:
    async with Served() as served:
        _, node = await served.get("/api/v1/nodes/gpu-1")
        assert {"type": "InternalIP", "address": "127.1.0.1"} in node["status"]["addresses"]
        assert node["status"]["capacity"]["nvidia.com/gpu"] == "2"
        assert node["kind"] == "Node"


async def test_pages_show_the_list_as_it_was_when_it_began() -> None:
    async with Served() as served:
        more_pods(served, 4)
        _, first = await served.get("/api/v1/pods?limit=2")
        assert first["metadata"]["remainingItemCount"] == 3
        delete_pod(served.world.cluster, served.world.cluster.pod("web", "web-3"))
        seen, token = names(first), first["metadata"]["continue"]
        while token:
            _, page = await served.get(f"/api/v1/pods?limit=2&continue={token}")
            assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
            seen, token = seen + names(page), page["metadata"].get("continue", "")
        assert seen == ["resnet-0", "web-0", "web-1", "web-2", "web-3"]


async def test_a_page_after_compaction_is_410() -> None:
    async with Served() as served:
        more_pods(served, 2)
        _, first = await served.get("/api/v1/pods?limit=1")
        served.server.store.compact()
        code, status = await served.get(
            f"/api/v1/pods?limit=1&continue={first['metadata']['continue']}"
        )
        assert (code, status["kind"], status["reason"]) == (410, "Status", "Expired")


async def test_a_version_that_is_not_reached_yet_is_504() -> None:
    async with Served() as served:
        code, status = await served.get("/api/v1/pods?resourceVersion=999999999")
        assert (code, status["reason"]) == (504, "Timeout")


async def test_selectors() -> None:
    async with Served() as served:
        more_pods(served, 1)
        add_node(served.world.cluster, "cpu-1", ["127.1.0.2"])
        for query, expected in (
            ("fieldSelector=metadata.name=web-0", ["web-0"]),
            ("fieldSelector=spec.nodeName=gpu-1,metadata.namespace!=web", ["resnet-0"]),
            ("fieldSelector=spec.nodeName=cpu-1", []),
            ("labelSelector=app=web", ["web-0"]),
            ("labelSelector=app!=web", ["resnet-0"]),
            ("labelSelector=app%20in%20(web,db)", ["web-0"]),
            ("labelSelector=app%20notin%20(web,db)", ["resnet-0"]),
            ("labelSelector=app", ["web-0"]),
            ("labelSelector=!app", ["resnet-0"]),
        ):
            _, page = await served.get(f"/api/v1/pods?{query}")
            assert names(page) == expected, query


async def test_what_cannot_be_read_is_400() -> None:
    async with Served() as served:
        for query in (
            "limit=x",
            "continue=%21",
            "fieldSelector=spec.colour=red",
            "fieldSelector=spec",
            "labelSelector=a%20b",
        ):
            code, status = await served.get(f"/api/v1/pods?{query}")
            assert (code, status["status"]) == (400, "Failure"), query


async def test_unknown_paths_and_objects_are_404_and_other_formats_406() -> None:
    async with Served() as served:
        for path in ("/nope", "/api/v1/widgets", "/api/v1/pods/resnet-0", "/apis/apps/v1"):
            assert (await served.get(path))[0] == 404, path
        code, status = await served.get("/api/v1/namespaces/vision/pods/nobody")
        assert (code, status["message"]) == (404, 'pods "nobody" not found')
        code, _ = await served.get("/api/v1/pods", Accept="application/vnd.kubernetes.protobuf")
        assert code == 406


async def test_a_table_has_a_row_for_each_pod() -> None:
    async with Served() as served:
        _, table = await served.get("/api/v1/pods", Accept=TABLE)
        assert table["kind"] == "Table"
        assert len(table["columnDefinitions"]) == len(table["rows"][0]["cells"])
        assert table["rows"][0]["cells"][:4] == ["resnet-0", "2/2", "Running", "0"]
        assert table["rows"][0]["object"]["metadata"]["namespace"] == "vision"


async def test_discovery() -> None:
    async with Served() as served:
        assert (await served.get("/version"))[1]["minor"] == "37"
        assert (await served.get("/api"))[1]["versions"] == ["v1"]
        groups = (await served.get("/apis"))[1]["groups"]
        assert [each["name"] for each in groups] == [
            "coordination.k8s.io",
            "events.k8s.io",
            "authorization.k8s.io",
            "authentication.k8s.io",
        ]
        resources = (await served.get("/api/v1"))[1]["resources"]
        assert {"pods", "nodes", "namespaces"} <= {each["name"] for each in resources}
        async with served.session.get("/readyz") as response:
            assert (response.status, await response.text()) == (200, "ok")


async def test_a_token_is_asked_for_if_there_is_one() -> None:
    async with Served(token="secret") as served:  # noqa: S106 - nobody's
        code, status = await served.get("/api/v1/pods")
        assert (code, status["reason"]) == (401, "Unauthorized")
        code, _ = await served.get("/api/v1/pods", Authorization="Bearer secret")
        assert code == 200
