"""Who may bind: one replica, and what another does with a request to bind that reaches it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

import aiohttp

from gpupods.kube.api import KubeApi
from gpupods.kube.failures import ApiError

FORWARD_LIMIT_S = 10.0
LOOK_UP_LIMIT_S = 2.0
BIND_HERE = "/scheduler/bind-here"
"""Where a standby passes on what it was asked. The leader there binds, or refuses."""

NEEDED = "a Role in the controller's namespace must allow get of pods"


class Election(Protocol):
    """What is asked of `controller.leader.candidate.Candidate`."""

    def leads(self) -> bool:
        """Whether this replica leads."""

    def leader(self) -> str:
        """The pod of the replica that leads, "" if it is this one or is not known."""

    def standing(self) -> str:
        """Who leads, for people."""


class Leadership:
    """What the election means to those who bind. Without an election this replica may always.

    Args:
        election: None: there is none.
        settle_s: How long after it began to lead a replica can know of all that its predecessor
            has written.
        clock: Monotonic.
    """

    def __init__(
        self,
        election: Election | None,
        settle_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._election = election
        self._settle_s = settle_s
        self._clock = clock
        self._led = False
        self._since = clock()

    def changed(self) -> None:
        """It may have begun or ceased to lead."""
        leads = self.leads()
        if leads and not self._led:
            self._since = self._clock()
        self._led = leads

    def leads(self) -> bool:
        """Whether this replica may bind."""
        return self._election is None or self._election.leads()

    def leader(self) -> str:
        """The pod of the one that may instead; "" if none is known."""
        return self._election.leader() if self._election is not None else ""

    def standing(self) -> str:
        """Who may, for people to read."""
        return self._election.standing() if self._election is not None else ""

    async def settled(self) -> None:
        """Return when this replica has led for long enough to know what was done before."""
        if self._election is not None:
            self.changed()
            await asyncio.sleep(max(0.0, self._since + self._settle_s - self._clock()))


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
        url = f"http://{await self._address(leader)}:{self._port}{BIND_HERE}"
        async with self._session.post(url, data=body) as response:
            response.raise_for_status()
            return await response.read()

    async def _address(self, leader: str) -> str:
        if self._known[0] != leader:
            path = f"/api/v1/namespaces/{self._namespace}/pods/{leader}"
            pod = await self._api.ask("GET", path, limit_s=LOOK_UP_LIMIT_S, needed=NEEDED)
            status = pod.get("status") or {}
            address = str(status.get("podIP") or "")
            if not address:
                raise ApiError(f"pod {self._namespace}/{leader} has no address")
            self._known = (leader, address)
        address = self._known[1]
        return f"[{address}]" if ":" in address else address

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
