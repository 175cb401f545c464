"""Follows containerd's events, to know whether a list of its containers is still right."""

from __future__ import annotations

import asyncio
import contextlib
import random

import grpc
import structlog

from nodeagent.containerd_api import events_pb2, events_pb2_grpc

log = structlog.get_logger()

SETTLE_S = 0.25
"""containerd does not confirm a subscription. After this time it is taken to be in force."""

LIFE_S = 900.0
"""After which a stream is made anew, so that one which has silently died is not believed."""

FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 5.0
"""Between attempts to subscribe; each is twice the one before, less up to half by chance."""


class ContainerChanges:
    """Counts the changes of the containers in one namespace of containerd."""

    def __init__(self, channel: grpc.aio.Channel, namespace: str) -> None:
        self._events = events_pb2_grpc.EventsStub(channel)
        # Tasks are left out on purpose: each exec probe of a kubelet is an event of a task, and
        # none of them changes which containers there are.
        self._filter = f'namespace=={namespace},topic~="^/containers/"'
        self._count = 0
        self._following = False
        self._task: asyncio.Task[None] | None = None

    def generation(self) -> int | None:
        """A number that has changed if there was a change; None while none would be noticed."""
        return self._count if self._following else None

    def start(self) -> None:
        """Follow until stopped, on the running loop."""
        self._task = asyncio.create_task(self._follow_for_ever(), name="containerd events")

    async def stop(self) -> None:
        """End following."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._following = False

    async def _follow_for_ever(self) -> None:
        wait_s = FIRST_WAIT_S
        while True:
            try:
                await self._follow()
            except grpc.aio.AioRpcError as error:
                if self._following and error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                    log.warning("containerd's events have ended", reason=error.details())
            # One that was followed for a while is subscribed to again at once.
            wait_s = FIRST_WAIT_S if self._following else min(2 * wait_s, LONGEST_WAIT_S)
            self._following = False
            await asyncio.sleep(wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - not a secret

    async def _follow(self) -> None:
        """Count the changes of one subscription, until it ends.

        Raises:
            AioRpcError: why it ended.
        """
        request = events_pb2.SubscribeRequest(filters=[self._filter])
        stream = self._events.Subscribe(request, timeout=LIFE_S)
        event = asyncio.ensure_future(stream.read())
        try:
            await asyncio.wait({event}, timeout=SETTLE_S)
            if not event.done():
                self._heard()  # whatever changed before was not heard
            while await event is not grpc.aio.EOF:  # type: ignore[attr-defined]  # the stubs lack it
                self._heard()
                event = asyncio.ensure_future(stream.read())
        finally:
            stream.cancel()

    def _heard(self) -> None:
        self._count += 1
        self._following = True
