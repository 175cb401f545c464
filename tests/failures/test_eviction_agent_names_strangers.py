"""An agent names pods that are not on its node: it has nobody evicted but its own node's pods."""

from __future__ import annotations

from dataclasses import replace

from controller.cache.records import NodeRecord
from controller.gpus.asking import NodeAnswer, NodeAsker
from gpupods.identity import PodUid
from gpupods.v1alpha1 import gpupods_pb2 as pb
from simulator.model import SimPod
from tests.failures.evicting import SERVING, Evicting, evicting


def of_another_node(at: Evicting) -> SimPod:
    pods = sorted(at.run.truth.pods.values(), key=lambda pod: pod.ref)
    return next(
        pod
        for pod in pods
        if pod.node is not at.node and pod.owner is not None and pod.owner.kind == "ReplicaSet"
    )


class Lying(NodeAsker):
    """Adds pods to what each GPU of an agent's answer tells."""

    victims: tuple[SimPod, ...] = ()

    async def ask(self, node: NodeRecord, *, max_age_ms: int, limit_s: float) -> NodeAnswer:
        answer = await super().ask(node, max_age_ms=max_age_ms, limit_s=limit_s)
        assert answer.response is not None
        for uuid, info in answer.response.GpuInfos.items():
            for pod in self.victims:
                row = pb.PidPods(namespace=pod.namespace, pod=pod.name, pod_uid=pod.uid)
                answer.response.GpuPods[uuid].pidPods.append(row)
                last = pb.LastPod(namespace=pod.namespace, pod=pod.name, pod_uid=pod.uid)
                info.last_pods.append(last)
        return answer


async def test_pods_of_other_nodes_stay() -> None:
    async with evicting(asker=Lying) as at:
        victim = of_another_node(at)
        Lying.victims = (victim,)
        await at.make_unfit(1)
        await at.long_after()
        await at.later(3600.0)
        assert at.pod(SERVING) is None, "it was on that GPU"
        assert at.run.truth.pods[victim.uid] is victim
        assert await at.events(victim.ref) == []
        evictions = [each for each in at.run.cluster.apiserver.requests if "/eviction" in each]
        assert not any(victim.name in each for each in evictions)


async def test_nor_is_the_api_server_asked_for_what_is_no_pod() -> None:
    async with evicting(asker=Lying) as at:
        Lying.victims = (
            replace(of_another_node(at), namespace="..", name="..", uid=PodUid("no-such")),
        )
        await at.make_unfit(1)
        before = len(at.run.cluster.apiserver.requests)
        await at.long_after()
        after = list(at.run.cluster.apiserver.requests)[before:]
        assert not any(".." in each for each in after)
