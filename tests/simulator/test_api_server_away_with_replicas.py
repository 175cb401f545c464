"""The API server is away, or silent: nobody is ready as the leader, and everybody answers."""

from __future__ import annotations

from controller.readiness import SYNCED
from tests.simulator.replicas import NOT_SERVING, SERVING, two_replicas, until
from tests.simulator.running import running


async def test_the_leader_is_ready_no_more_and_answers_go_on() -> None:
    async with running() as run, two_replicas(run) as (leader, standby):
        pod = run.pod("llama-finetune-0")
        before = (await leader.ask(pod.ref)).GpuPods
        await run.cluster.apiserver.go_away()
        await until(lambda: not leader.ready(), "its lease is over")
        await leader.until_health("", NOT_SERVING)
        assert "standby" in (await leader.probe("/readyz"))[1]
        for each in (leader, standby):
            assert not each.ready()
            assert (await each.ask(pod.ref)).GpuPods == before
            await each.until_health(SYNCED, SERVING)
        await run.cluster.apiserver.come_back()
        await until(lambda: leader.ready() or standby.ready(), "one of them leads again")
        assert not (leader.ready() and standby.ready())


async def test_a_silent_server_is_no_reason_to_go_on_leading() -> None:
    async with running() as run, two_replicas(run) as (leader, standby):
        run.cluster.apiserver.faults.set_half_open(half_open=True)
        await until(lambda: not leader.ready(), "its lease is over")
        await leader.until_health("", NOT_SERVING)
        assert not standby.ready()
        run.cluster.apiserver.faults.set_half_open(half_open=False)
        await until(lambda: leader.ready() or standby.ready(), "one of them leads again")
