"""The extender of one controller, put together from its settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from controller.cache.cluster import ClusterCache
from controller.extender.binding import Binder
from controller.extender.leadership import LeaderPod, Leadership
from controller.extender.service import Extender
from controller.http.posting import Post
from controller.leader.candidate import Candidate, own_namespace
from controller.leader.election import Terms
from controller.settings import ControllerSettings
from gpupods.kube.api import KubeApi

LONGEST_BIND_S = 5.0
"""What the API server may take to bind a pod."""


class SchedulerExtender:
    """What a controller that is an extender serves beside its gRPC methods.

    Args:
        settings: Of the controller.
        cache: The cluster.
        api: The API server.
        candidate: This replica in the election; None: it always leads.
        staleness: Since when changes may have been missed and why; "" if none were.
        catch_up: Follows the API server anew; returns when it does.
    """

    def __init__(
        self,
        settings: ControllerSettings,
        cache: ClusterCache,
        api: KubeApi,
        candidate: Candidate | None,
        staleness: Callable[[], str],
        *,
        catch_up: Callable[[], Awaitable[None]],
    ) -> None:
        limit_s = bind_limit_s(settings)
        self._leadership = Leadership(candidate, settle_s=limit_s, catch_up=catch_up)
        self._leader_pod = LeaderPod(api, own_namespace(), settings.http_listen.port)
        binder = Binder(cache, api, self._leadership, staleness, limit_s)
        self._extender = Extender(cache, binder, self._leadership, self._leader_pod)

    def posts(self) -> Mapping[str, Post]:
        """What is served, by path."""
        return self._extender.posts()

    def leadership_changed(self) -> None:
        """This replica may have begun or ceased to lead."""
        self._leadership.changed()

    async def close(self) -> None:
        """Close all connections."""
        self._leadership.close()
        await self._leader_pod.close()


def bind_limit_s(settings: ControllerSettings) -> float:
    """What the API server may take to bind a pod: no longer than until another can lead."""
    if not settings.leader_elect:
        return LONGEST_BIND_S
    return min(LONGEST_BIND_S, settings.lease_duration - Terms(settings.lease_duration).hold_s)
