"""Whether pods are evicted at all, as the settings have it."""

from __future__ import annotations

from collections.abc import Callable

from controller.cache.cluster import ClusterCache
from controller.eviction.decide import EvictionPolicy
from controller.eviction.edge import PodEvictions
from controller.eviction.evictor import Evictor
from controller.gpus.asking import NodeAsker
from controller.leader.candidate import Candidate
from controller.settings import ControllerSettings
from gpupods.kube.api import KubeApi


def evictor_of(
    settings: ControllerSettings,
    *,
    cache: ClusterCache,
    asker: NodeAsker,
    api: KubeApi,
    candidate: Candidate | None,
    staleness: Callable[[], str],
) -> Evictor | None:
    """The evictor that ``settings`` ask for; None: nobody is evicted."""
    if not settings.evict_after:
        return None

    def why_not() -> str:
        if not cache.synced:
            return cache.why_not_synced()
        if candidate is not None and not candidate.leads():
            return candidate.standing()
        return staleness()

    policy = EvictionPolicy(
        after_s=settings.evict_after,
        excluded=settings.evict_excluded,
        per_minute=settings.evict_per_minute,
        pause_s=settings.evict_pause,
    )
    return Evictor(policy, cache=cache, asker=asker, evictions=PodEvictions(api), why_not=why_not)
