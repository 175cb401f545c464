from __future__ import annotations

import pytest

from simulator.apiserver import events
from tests.unit.simulator.api_client import Served

EVENTS = "/api/v1/namespaces/default/events"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
BODY = {
    "metadata": {"name": "e1"},
    "involvedObject": {"kind": "Node", "name": "gpu-1", "uid": "u"},
    "reason": "GpuUnfit",
    "type": "Warning",
    "message": "GPU 1 is unfit",
    "source": {"component": "gpupods-nodeagent", "host": "gpu-1"},
    "firstTimestamp": "2027-01-15T07:58:00Z",
    "lastTimestamp": "2027-01-15T07:59:00Z",
    "count": 2,
}


async def test_the_row_of_an_event_is_what_kubectl_shows() -> None:
    async with Served() as served:
        assert (await served.send("POST", EVENTS, BODY))[0] == 201
        _, table = await served.get("/api/v1/events", Accept=TABLE)
        (row,) = table["rows"]
        assert row["cells"] == [
            "60s", "Warning", "GpuUnfit", "node/gpu-1", "", "gpupods-nodeagent, gpu-1",
            "GPU 1 is unfit", "2m", 2, "e1",
        ]  # fmt: skip
        assert len(table["columnDefinitions"]) == len(row["cells"])


async def test_a_second_event_of_the_name_is_refused() -> None:
    async with Served() as served:
        await served.send("POST", EVENTS, BODY)
        code, status = await served.send("POST", EVENTS, BODY)
        assert (code, status["reason"]) == (409, "AlreadyExists")


async def test_a_watch_in_the_events_group_has_its_names() -> None:
    async with Served() as served:
        path = "/apis/events.k8s.io/v1/events?watch=1"
        async with served.watch(path) as watch:
            await served.send("POST", EVENTS, BODY)
            verb, event = await watch.next()
            assert (verb, event["apiVersion"]) == ("ADDED", "events.k8s.io/v1")
            assert (event["note"], event["regarding"]["name"]) == ("GPU 1 is unfit", "gpu-1")


async def test_the_oldest_events_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_KEPT", 2)
    async with Served() as served:
        for name in ("e1", "e2", "e3"):
            await served.send("POST", EVENTS, BODY | {"metadata": {"name": name}})
        _, listed = await served.get(EVENTS)
        assert [each["metadata"]["name"] for each in listed["items"]] == ["e2", "e3"]


@pytest.mark.parametrize("body", [[], {}, {"metadata": {}}, {"metadata": {"namespace": "x"}}])
async def test_what_is_no_event_is_refused(body: object) -> None:
    async with Served() as served:
        assert (await served.send("POST", EVENTS, body))[0] == 422
