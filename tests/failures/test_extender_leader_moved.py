"""Another leads: a standby passes bindings on; a new leader waits for what was written last."""

from __future__ import annotations

import asyncio

from gpupods.kube.failures import UnreachableError
from tests.failures.extending import CARD, extending, hang


async def test_a_standby_passes_it_on() -> None:
    async with extending() as extended:
        extended.node()
        extended.pod("first", memory=1)
        extended.replicas.is_leader = False
        extended.replicas.leads_instead = "controller-2"
        assert await extended.bind("first") == ""
        (passed_on,) = extended.leader_pod.passed_on
        assert passed_on["leader"] == "controller-2"
        assert (passed_on["PodName"], passed_on["PodUID"]) == ("first", "uid-first")
        assert extended.server.asked == []


async def test_the_leader_is_not_reached() -> None:
    async with extending() as extended:
        extended.node()
        extended.replicas.is_leader = False
        extended.replicas.leads_instead = "controller-2"
        extended.leader_pod.failure = UnreachableError("GET ...: 404 not found")
        error = await extended.bind("first")
        assert error == (
            "controller-2 leads, and was not reached from a standby: GET ...: 404 not found"
        )


async def test_nobody_is_known_to_lead() -> None:
    async with extending() as extended:
        extended.node()
        extended.replicas.is_leader = False
        assert (await extended.bind("first")).startswith("not bound: this replica is a standby")


async def test_what_was_passed_on_is_passed_on_no_further() -> None:
    async with extending() as extended:
        extended.node()
        extended.pod("first", memory=1)
        extended.replicas.is_leader = False
        extended.replicas.leads_instead = "controller-2"
        body = b'{"PodName":"first","PodNamespace":"team","PodUID":"uid-first","Node":"node-1"}'
        _, answer = await extended.post("/scheduler/bind-here", body)
        assert "this replica is a standby" in answer["Error"]
        assert extended.leader_pod.passed_on == []


async def test_who_has_just_begun_to_lead_knows_what_was_written_last() -> None:
    async with extending(settle_s=0.2) as extended:
        extended.node(gpus=1)
        for name in ("first", "second"):
            extended.pod(name, memory=CARD)
        binding = asyncio.create_task(extended.bind("second"))
        await asyncio.sleep(0)
        # The predecessor's last binding, which the watch brings only now.
        path = "/api/v1/namespaces/team/pods/first/binding"
        annotations = {"volcano.sh/gpu-index": "0"}
        last = {"metadata": {"annotations": annotations}, "target": {"name": "node-1"}}
        await extended.api.ask("POST", path, last, limit_s=5)
        extended.show("first")
        assert "GPU 0 has 0 of 4096 idle" in await binding
        assert len(extended.server.bound) == 1


async def test_who_has_led_for_long_does_not_wait() -> None:
    async with extending(settle_s=3600) as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        extended.extender._leadership.changed()
        await asyncio.sleep(0)
        extended.now += 3600
        assert await extended.bind("first") == ""


async def test_it_ceases_to_lead_while_it_binds() -> None:
    async with extending(settle_s=0.05) as extended:
        extended.node()
        extended.pod("first", memory=1)
        binding = asyncio.create_task(extended.bind("first"))
        await asyncio.sleep(0)
        extended.replicas.is_leader = False
        assert "this replica is a standby" in await binding
        assert extended.server.asked == []


async def test_what_it_kept_when_it_led_before_may_be_another_s_by_now() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        for name in ("first", "second"):
            extended.pod(name, memory=CARD)
        extended.server.next_answers.append(hang)
        assert "no answer in time" in await extended.bind("first")
        extended.replicas.is_leader = False
        extended.extender._leadership.changed()
        # Who leads meanwhile knows nothing of that, and has bound another.
        path = "/api/v1/namespaces/team/pods/second/binding"
        annotations = {"volcano.sh/gpu-index": "0"}
        binding = {"metadata": {"annotations": annotations}, "target": {"name": "node-1"}}
        await extended.api.ask("POST", path, binding, limit_s=5)
        extended.show("second")
        extended.replicas.is_leader = True
        assert "is unfit or another's by now" in await extended.bind("first")
        assert list(extended.server.bound) == ["second"]
