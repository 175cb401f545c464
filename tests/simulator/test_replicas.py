"""Two controllers: one leads and is ready, and both answer."""

from __future__ import annotations

from controller.readiness import SYNCED
from tests.simulator.replicas import (
    NOT_SERVING,
    SERVICE,
    SERVING,
    Replica,
    two_replicas,
    until,
)
from tests.simulator.running import running

HOLDER = "gpupods-system/gpupods-controller"


async def test_readiness_tells_who_leads_and_who_is_synced() -> None:
    async with running() as run, two_replicas(run) as (leader, standby):
        assert await leader.probe("/readyz") == (200, "ok\n")
        code, why = await standby.probe("/readyz")
        assert code == 503
        assert "this replica is a standby" in why
        assert f"leads by the lease {HOLDER}" in why
        for name in ("", SERVICE):
            await leader.until_health(name, SERVING)
            await standby.until_health(name, NOT_SERVING)
        for each in (leader, standby):
            assert await each.probe("/syncedz") == (200, "ok\n")
            assert await each.probe("/healthz") == (200, "ok\n")
            await each.until_health(SYNCED, SERVING)


async def test_a_standby_that_is_asked_answers_as_the_leader_does() -> None:
    async with running() as run, two_replicas(run) as (leader, standby):
        pod = run.pod("llama-finetune-0")
        ours, theirs = await leader.ask(pod.ref), await standby.ask(pod.ref)
        assert ours.GpuPods == theirs.GpuPods
        assert list(theirs.missing) == []


async def test_a_leader_that_stops_hands_over() -> None:
    async with running() as run, two_replicas(run) as (leader, standby):
        await leader.controller.stop()
        await until(standby.ready, "the other one leads")
        await standby.until_health("", SERVING)
        lease = run.cluster.apiserver.store.get("leases", HOLDER)
        assert lease is not None
        assert lease.object["spec"]["leaseTransitions"] == 1


async def test_one_that_does_not_know_the_cluster_does_not_want_to_lead() -> None:
    async with running() as run:
        run.cluster.apiserver.faults.denied.add(("list", "pods"))
        blind = Replica(run)
        await blind.start()
        try:
            reason = "must allow list and watch"
            await until(lambda: reason in blind.controller.ready()[1], "it learns that it may not")
            assert run.cluster.apiserver.store.get("leases", HOLDER) is None
            assert (await blind.probe("/syncedz"))[0] == 503
            run.cluster.apiserver.faults.denied.clear()
            await until(blind.ready, "it leads once it knows")
        finally:
            await blind.controller.stop()


async def test_without_the_right_to_the_lease_it_says_which_one_is_missing() -> None:
    async with running() as run:
        run.cluster.apiserver.faults.denied.add(("create", "leases"))
        replica = Replica(run)
        await replica.start()
        try:
            wanted = "role must allow get, create and update of leases"
            await until(lambda: wanted in replica.controller.ready()[1], "it says what it needs")
            assert not replica.ready()
            pod = run.pod("llama-finetune-0")
            assert (await replica.ask(pod.ref)).GpuPods, "it answers all the same"
            run.cluster.apiserver.faults.denied.clear()
            await until(replica.ready, "it leads once it may")
        finally:
            await replica.controller.stop()
