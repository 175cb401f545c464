"""What is written about GPUs to an API server: kube-apiserver and the simulator's twin alike."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gpupods.kube.api import Json
from gpupods.kube.encoding import Resource
from gpupods.kube.failures import RefusedError
from gpupods.kube.json_encoding import JsonEncoding
from gpupods.kube.objects import Node
from tests.contract import writable_clusters
from tests.contract.writable_clusters import Writable
from tests.realparts import objects

LIMIT_S = 30.0
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
IDS = "volcano.sh/gpu-unhealthy-ids"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"
GROUP_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
TIME = "2026-01-01T00:00:00.000000Z"


@pytest.fixture(params=["simulated", pytest.param("kube-apiserver", marks=pytest.mark.e2e)])
async def kube(request: pytest.FixtureRequest) -> AsyncIterator[Writable]:
    if request.param == "simulated":
        async with writable_clusters.simulated() as cluster:
            yield cluster
    else:
        async with writable_clusters.real(request.getfixturevalue("apiserver")) as cluster:
            yield cluster


@pytest.fixture
def name() -> str:
    """Of all that a test makes: the real server keeps what others have made."""
    return f"n-{uuid.uuid4().hex[:8]}"


async def ask(
    kube: Writable, method: str, path: str, body: Json | None = None, media_type: str = ""
) -> Json:
    return await kube.api.ask(
        method, path, body, limit_s=LIMIT_S, media_type=media_type or "application/json"
    )


async def refused(
    kube: Writable, method: str, path: str, body: Json | None = None, media_type: str = ""
) -> int:
    with pytest.raises(RefusedError) as raised:
        await ask(kube, method, path, body, media_type)
    return raised.value.status


def node_path(name: str) -> str:
    return f"/api/v1/nodes/{name}"


def annotations_of(thing: Json) -> dict[str, str]:
    found: dict[str, str] = thing["metadata"].get("annotations") or {}
    return found


def conditions(node: Json) -> dict[str, str]:
    return {each["type"]: each["status"] for each in node["status"]["conditions"]}


def condition(status: str, reason: str = "Tested") -> Json:
    return {"type": "GpuUnfit", "status": status, "reason": reason, "message": "m"}


async def test_annotations_are_merged_and_null_takes_one_away(kube: Writable, name: str) -> None:
    await kube.add_node(name)
    both = {"metadata": {"annotations": {IDS: "0,3", "a": "b"}}}
    assert annotations_of(await ask(kube, "PATCH", node_path(name), both, MERGE)) == {
        IDS: "0,3",
        "a": "b",
    }
    none = {"metadata": {"annotations": {IDS: None, "never": None}}}
    assert annotations_of(await ask(kube, "PATCH", node_path(name), none, MERGE)) == {"a": "b"}
    last: Json = {"metadata": {"annotations": {"a": None}}}
    assert annotations_of(await ask(kube, "PATCH", node_path(name), last, STRATEGIC)) == {}
    assert annotations_of(await ask(kube, "GET", node_path(name))) == {}


async def test_one_patch_of_the_status_has_annotations_and_a_condition(
    kube: Writable, name: str
) -> None:
    await kube.add_node(name)
    body = {
        "metadata": {"annotations": {IDS: "1"}},
        "status": {"conditions": [condition("True")]},
    }
    await ask(kube, "PATCH", f"{node_path(name)}/status", body, STRATEGIC)
    node = await ask(kube, "GET", node_path(name))
    assert annotations_of(node) == {IDS: "1"}
    assert conditions(node).items() >= {"Ready": "True", "GpuUnfit": "True"}.items()
    again = {"status": {"conditions": [condition("False", "Other")]}}
    node = await ask(kube, "PATCH", f"{node_path(name)}/status", again, STRATEGIC)
    assert conditions(node).items() >= {"Ready": "True", "GpuUnfit": "False"}.items()
    assert [c["reason"] for c in node["status"]["conditions"] if c["type"] == "GpuUnfit"] == [
        "Other"
    ]
    assert annotations_of(node) == {IDS: "1"}


async def test_a_patch_of_the_object_leaves_its_status_and_one_of_the_status_its_spec(
    kube: Writable, name: str
) -> None:
    await kube.add_node(name)
    body: Json = {"spec": {"unschedulable": True}, "status": {"conditions": [condition("True")]}}
    node = await ask(kube, "PATCH", node_path(name), body, STRATEGIC)
    assert node["spec"]["unschedulable"] is True
    assert "GpuUnfit" not in conditions(node)
    body["spec"]["unschedulable"] = False
    node = await ask(kube, "PATCH", f"{node_path(name)}/status", body, STRATEGIC)
    assert node["spec"]["unschedulable"] is True
    assert conditions(node)["GpuUnfit"] == "True"


async def test_resources_that_a_patch_of_the_status_adds(kube: Writable, name: str) -> None:
    await kube.add_node(name)
    body = {"status": {"capacity": {"volcano.sh/gpu-number": "8"}}}
    await ask(kube, "PATCH", f"{node_path(name)}/status", body, MERGE)
    status = (await ask(kube, "GET", node_path(name)))["status"]
    assert status["capacity"]["volcano.sh/gpu-number"] == "8"


async def test_a_patch_of_a_version_that_is_not_the_current_one_is_a_conflict(
    kube: Writable, name: str
) -> None:
    await kube.add_node(name)
    before = (await ask(kube, "GET", node_path(name)))["metadata"]["resourceVersion"]

    def at(value: str) -> Json:
        return {"metadata": {"resourceVersion": before, "annotations": {"a": value}}}

    for kind in (MERGE, STRATEGIC):
        node = await ask(kube, "PATCH", f"{node_path(name)}/status", at(kind), kind)
        assert await refused(kube, "PATCH", node_path(name), at("late"), kind) == 409
        assert annotations_of(await ask(kube, "GET", node_path(name))) == {"a": kind}
        before = node["metadata"]["resourceVersion"]


async def test_a_patch_of_another_object_of_the_name_is_refused(kube: Writable, name: str) -> None:
    await kube.add_node(name)
    body = {"metadata": {"uid": str(uuid.uuid4()), "annotations": {"a": "b"}}}
    assert await refused(kube, "PATCH", node_path(name), body, MERGE) == 422


async def test_a_patch_that_changes_nothing_makes_no_version(kube: Writable, name: str) -> None:
    await kube.add_node(name)
    body = {"metadata": {"annotations": {IDS: "1", "gone": None}}}
    first = await ask(kube, "PATCH", node_path(name), body, MERGE)
    again = await ask(kube, "PATCH", f"{node_path(name)}/status", body, STRATEGIC)
    assert first["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]


async def test_patches_that_are_refused(kube: Writable, name: str) -> None:
    body = {"metadata": {"annotations": {"a": "b"}}}
    assert await refused(kube, "PATCH", node_path(name), body, MERGE) == 404
    await kube.add_node(name)
    assert await refused(kube, "PATCH", node_path(name), body, "application/json") == 415
    assert await refused(kube, "PATCH", f"{node_path(name)}/nothing", body, MERGE) == 404
    number = {"metadata": {"annotations": {"a": 1}}}
    assert await refused(kube, "PATCH", node_path(name), number, MERGE) in (400, 422)
    nameless = {"status": {"conditions": [{"status": "True"}]}}
    status = f"{node_path(name)}/status"
    assert await refused(kube, "PATCH", status, nameless, STRATEGIC) in (400, 422, 500)


async def test_one_node_is_listed_and_watched_among_others(kube: Writable, name: str) -> None:
    await kube.add_node(name)
    await kube.add_node(f"{name}-other")
    mine = f"/api/v1/nodes?fieldSelector=metadata.name%3D{name}"
    listed = await ask(kube, "GET", mine)
    assert [each["metadata"]["name"] for each in listed["items"]] == [name]
    resource = Resource("nodes", mine, (JsonEncoding(Node),))
    version = listed["metadata"]["resourceVersion"]
    body = {"metadata": {"annotations": {"a": "b"}}}
    await ask(kube, "PATCH", node_path(f"{name}-other"), body, MERGE)
    await ask(kube, "PATCH", node_path(name), body, MERGE)
    async with kube.api.watch(resource, version=version, watch_s=5, margin_s=LIMIT_S) as stream:
        frames = stream.encoding.frames()
        async for data in stream.chunks:
            for event in map(stream.encoding.event, frames.feed(data)):
                if event.type == "BOOKMARK":
                    continue
                found = stream.encoding.item(event.item)
                assert (event.type, found.metadata.name) == ("MODIFIED", name)
                return
    pytest.fail("the watch ended before the change was seen")


def event(name: str, **others: Any) -> Json:
    about = {"kind": "Node", "apiVersion": "v1", "name": name, "uid": name}
    return {"metadata": {"generateName": f"{name}-"}, "involvedObject": about} | others


CORE_EVENT: dict[str, Any] = {
    "reason": "GpuUnfit", "message": "GPU 1 is unfit", "type": "Warning",
    "source": {"component": "gpupods-nodeagent", "host": "h"},
    "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z", "count": 1,
}  # fmt: skip


async def test_an_event_of_the_core_group(kube: Writable, name: str) -> None:
    made = await ask(kube, "POST", EVENTS, event(name, **CORE_EVENT))
    found = await ask(kube, "GET", f"{EVENTS}?fieldSelector=involvedObject.name%3D{name}")
    assert [each["metadata"]["name"] for each in found["items"]] == [made["metadata"]["name"]]
    (one,) = found["items"]
    assert (one["reason"], one["count"], one["involvedObject"]["name"]) == ("GpuUnfit", 1, name)
    other = await ask(kube, "GET", f"{GROUP_EVENTS}/{made['metadata']['name']}")
    assert (other["note"], other["regarding"]["name"]) == ("GPU 1 is unfit", name)
    assert other["deprecatedCount"] == 1
    more = {"count": 2, "lastTimestamp": "2026-01-01T00:01:00Z"}
    path = f"{EVENTS}/{made['metadata']['name']}"
    assert (await ask(kube, "PATCH", path, more, MERGE))["count"] == 2


async def test_an_event_of_the_events_group(kube: Writable, name: str) -> None:
    body = {
        "metadata": {"generateName": f"{name}-"}, "eventTime": TIME, "type": "Warning",
        "reason": "GpuUnfit", "note": "GPU 1 is unfit", "action": "Exclude",
        "regarding": {"kind": "Node", "name": name, "uid": name},
        "reportingController": "gpupods.io/nodeagent", "reportingInstance": name,
    }  # fmt: skip
    made = await ask(kube, "POST", GROUP_EVENTS, body)
    assert (made["note"], made["regarding"]["name"]) == ("GPU 1 is unfit", name)
    found = await ask(
        kube, "GET", f"{EVENTS}?fieldSelector=reason%3DGpuUnfit,involvedObject.uid%3D{name}"
    )
    (one,) = found["items"]
    assert (one["message"], one["reportingComponent"]) == ("GPU 1 is unfit", "gpupods.io/nodeagent")
    for lacking in ("eventTime", "reportingController", "reportingInstance", "action", "reason"):
        less = {key: value for key, value in body.items() if key != lacking}
        assert await refused(kube, "POST", GROUP_EVENTS, less) == 422, lacking
    assert await refused(kube, "POST", GROUP_EVENTS, body | {"type": "Grave"}) == 422
    assert await refused(kube, "POST", GROUP_EVENTS, body | {"note": "x" * 1025}) == 422


async def test_an_event_stands_in_the_namespace_of_what_it_is_about(
    kube: Writable, name: str
) -> None:
    body = event(name, **CORE_EVENT)
    body["involvedObject"]["namespace"] = "kube-system"
    assert await refused(kube, "POST", EVENTS, body) == 422
    del body["involvedObject"]["namespace"]
    elsewhere = EVENTS.replace("default", "kube-system")
    assert await refused(kube, "POST", elsewhere, body) == 422


async def test_a_pod_is_bound_once_with_the_bindings_annotations(kube: Writable, name: str) -> None:
    await kube.add_node(name)
    await ask(kube, "POST", PODS, waiting_pod(name))
    chosen = {"volcano.sh/gpu-index": "1"}
    body = {
        "metadata": {"name": name, "annotations": chosen},
        "target": {"kind": "Node", "name": name},
    }
    done = await ask(kube, "POST", f"{PODS}/{name}/binding", body)
    assert done["status"] == "Success"
    pod = await ask(kube, "GET", f"{PODS}/{name}")
    assert pod["spec"]["nodeName"] == name
    assert annotations_of(pod).items() >= chosen.items()
    scheduled = {each["type"]: each["status"] for each in pod["status"]["conditions"]}
    assert scheduled["PodScheduled"] == "True"
    assert await refused(kube, "POST", f"{PODS}/{name}/binding", body) == 409
    on_node = await ask(kube, "GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}")
    assert [each["metadata"]["name"] for each in on_node["items"]] == [name]


async def test_a_binding_of_another_pod_of_the_name_is_a_conflict(
    kube: Writable, name: str
) -> None:
    await kube.add_node(name)
    target = {"kind": "Node", "name": name}
    body = {"metadata": {"name": name, "uid": str(uuid.uuid4())}, "target": target}
    assert await refused(kube, "POST", f"{PODS}/{name}/binding", body) == 404
    await ask(kube, "POST", PODS, waiting_pod(name))
    assert await refused(kube, "POST", f"{PODS}/{name}/binding", body) == 409


async def test_annotations_of_a_pod_are_patched(kube: Writable, name: str) -> None:
    await ask(kube, "POST", PODS, waiting_pod(name))
    body: Json = {"metadata": {"annotations": {"volcano.sh/gpu-assigned": "true"}}}
    pod = await ask(kube, "PATCH", f"{PODS}/{name}", body, STRATEGIC)
    assert annotations_of(pod)["volcano.sh/gpu-assigned"] == "true"
    body = {"metadata": {"annotations": {"volcano.sh/gpu-assigned": None}}}
    pod = await ask(kube, "PATCH", f"{PODS}/{name}", body, MERGE)
    assert "volcano.sh/gpu-assigned" not in annotations_of(pod)


def waiting_pod(name: str) -> Json:
    """One that the simulator's own scheduler leaves alone, too."""
    pod = objects.pod("default", name)
    pod["spec"]["schedulerName"] = "by-hand"
    return pod


def eviction(name: str, **options: Any) -> Json:
    metadata = {"name": name, "namespace": "default"}
    about = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    return about | ({"deleteOptions": options} if options else {})


async def test_an_evicted_pod_is_gone(kube: Writable, name: str) -> None:
    pod = await ask(kube, "POST", PODS, waiting_pod(name))
    path = f"{PODS}/{name}/eviction"
    another = eviction(name, preconditions={"uid": str(uuid.uuid4())})
    assert await refused(kube, "POST", path, another) == 409
    mine = eviction(name, preconditions={"uid": pod["metadata"]["uid"]})
    assert (await ask(kube, "POST", path, mine))["status"] == "Success"
    assert await refused(kube, "GET", f"{PODS}/{name}") == 404
    assert await refused(kube, "POST", path, eviction(name)) == 404


async def test_a_budget_keeps_a_pod_from_being_evicted(kube: Writable, name: str) -> None:
    await kube.add_node(name)
    await ask(kube, "POST", PODS, objects.pod("default", name, node_name=name))
    await kube.protect(name)
    with pytest.raises(RefusedError, match="disruption budget") as raised:
        await ask(kube, "POST", f"{PODS}/{name}/eviction", eviction(name))
    assert raised.value.status == 429
    assert "deletionTimestamp" not in (await ask(kube, "GET", f"{PODS}/{name}"))["metadata"]


async def test_who_asks_is_told(kube: Writable) -> None:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    told = await ask(kube, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body)
    assert told["kind"] == "SelfSubjectReview"
    assert told["status"]["userInfo"]["username"]
