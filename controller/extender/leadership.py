"""Who may bind: one replica, and what another does with a request to bind that reaches it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

import aiohttp
import structlog

from gpupods.addresses import HostPort
from gpupods.identity import PodRef
from gpupods.kube.api import KubeApi
from gpupods.kube.failures import ApiError
from gpupods.kube.paths import pod_path

FORWARD_LIMIT_S = 10.0
CATCH_UP_S = 4.0
"""How long a binding waits for a new leader to follow the API server anew."""
LOOK_UP_LIMIT_S = 2.0
BIND_HERE = "/scheduler/bind-here"
"""Where a standby passes on what it was asked. The leader there binds, or refuses."""

NEEDED = "a Role in the controller's namespace must allow get of pods"

log = structlog.get_logger()


class Election(Protocol):
    """What is asked of `controller.leader.candidate.Candidate`."""

    def leads(self) -> bool:
        """Whether this replica leads."""

    def leader(self) -> str:
        """The pod of the replica that leads, "" if it is this one or is not known."""

    def standing(self) -> str:
        """Who leads, for people."""


async def _as_it_is() -> None:
    """Where nothing follows the API server."""


class Leadership:
    """What the election means to those who bind. Without an election this replica may always.

    What a standby knows may be old without a sign of it: its watch may be dead, or be tried again
    after a failure. So it is opened anew when this replica begins to lead, and nothing is bound
    before that, and a while after it, which is for what the predecessor has written last.

    Args:
        election: None: there is none.
        settle_s: That while: longer than a request of the predecessor's can be under way.
        clock: Monotonic.
        catch_up: Follows the API server anew; returns when it does.
    """

    def __init__(
        self,
        election: Election | None,
        settle_s: float,
        clock: Callable[[], float] = time.monotonic,
        catch_up: Callable[[], Awaitable[None]] = _as_it_is,
    ) -> None:
        self._election = election
        self._settle_s = settle_s
        self._clock = clock
        self._catch_up = catch_up
        self._led = False
        self._since: float | None = None
        """When it had caught up, since it leads."""
        self._catching_up: asyncio.Task[None] | None = None

    def changed(self) -> None:
        """It may have begun or ceased to lead."""
        leads = self.leads()
        if leads and not self._led and self._election is not None:
            self.close()
            self._since = None
            self._catching_up = asyncio.create_task(self._begin())
        self._led = leads

    async def _begin(self) -> None:
        try:
            await self._catch_up()
        except Exception:
            log.exception("a failure that nobody foresaw: nothing will be bound here")
        else:
            self._since = self._clock()

    def leads(self) -> bool:
        """Whether this replica may bind."""
        return self._election is None or self._election.leads()

    def leader(self) -> str:
        """The pod of the one that may instead; "" if none is known."""
        return self._election.leader() if self._election is not None else ""

    def standing(self) -> str:
        """Who may, for people to read."""
        return self._election.standing() if self._election is not None else ""

    async def settled(self) -> bool:
        """Return when this replica has led for long enough to know what was done before.

        Returns: False: it does not even follow the API server yet.
        """
        self.changed()
        if self._election is None or self._catching_up is None:
            return True
        await asyncio.wait({self._catching_up}, timeout=CATCH_UP_S)
        since = self._since
        if since is None:
            return False
        await asyncio.sleep(max(0.0, since + self._settle_s - self._clock()))
        return self._since == since

    def close(self) -> None:
        """Wait for nothing any more."""
        if self._catching_up is not None:
            self._catching_up.cancel()
            self._catching_up = None


class LeaderPod:
    """The leader's pod over HTTP: its address is asked of the API server when it changes.

    Args:
        api: The API server.
        namespace: Where the replicas run.
        port: Where they serve HTTP.
    """

    def __init__(self, api: KubeApi, namespace: str, port: int) -> None:
        self._api = api
        self._namespace = namespace
        self._port = port
        self._known: tuple[str, str] = ("", "")
        self._session: aiohttp.ClientSession | None = None

    async def bind(self, leader: str, body: bytes) -> bytes:
        """Have the leader answer.

        Raises:
            ApiError: its address cannot be had.
            OSError, aiohttp.ClientError: it did not answer.
        """
        if self._session is None:
            limits = aiohttp.ClientTimeout(total=FORWARD_LIMIT_S)
            self._session = aiohttp.ClientSession(timeout=limits)
        url = f"http://{HostPort(await self._address(leader), self._port)}{BIND_HERE}"
        try:
            async with self._session.post(url, data=body) as response:
                response.raise_for_status()
                return await response.read()
        except (OSError, aiohttp.ClientError):
            self._known = ("", "")  # a pod whose sandbox was made again has another address
            raise

    async def _address(self, leader: str) -> str:
        if self._known[0] != leader:
            path = pod_path(PodRef(self._namespace, leader))
            pod = await self._api.ask("GET", path, limit_s=LOOK_UP_LIMIT_S, needed=NEEDED)
            status = pod.get("status") or {}
            address = str(status.get("podIP") or "")
            if not address:
                raise ApiError(f"pod {self._namespace}/{leader} has no address")
            self._known = (leader, address)
        return self._known[1]

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
