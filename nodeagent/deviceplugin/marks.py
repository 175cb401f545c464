"""Marks pods as assigned: at once where that works, else again and again until it does."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import structlog

from gpupods.kube.backoff import Backoff
from gpupods.kube.failures import ApiError, RefusedError
from nodeagent.deviceplugin.pod_api import PodApi
from nodeagent.deviceplugin.pods import GpuPod

GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
"""There is no such pod any more, or another one of its name."""

log = structlog.get_logger()


class Marks:
    """What is to be written to pods that have been served."""

    def __init__(self, pods: PodApi) -> None:
        self._pods = pods
        self._late: set[asyncio.Task[None]] = set()

    @property
    def late(self) -> int:
        """How many pods are not marked yet."""
        return len(self._late)

    async def mark(self, pod: GpuPod) -> None:
        """Have it marked. What the pod was given is right whether or not that works now."""
        try:
            await self._pods.annotate(pod, assigned=True)
        except ApiError as error:
            if not _is_gone(error):
                log.warning("device_plugin.mark_late", pod=str(pod.ref), error=str(error))
                task = asyncio.create_task(self._until_it_is_there(pod))
                self._late.add(task)
                task.add_done_callback(self._late.discard)

    async def close(self) -> None:
        """Give up those that are not there yet."""
        for task in tuple(self._late):
            task.cancel()
        if self._late:
            await asyncio.wait(self._late)

    async def _until_it_is_there(self, pod: GpuPod) -> None:
        pauses = Backoff()
        while True:
            await asyncio.sleep(pauses.next_delay_s())
            try:
                await self._pods.annotate(pod, assigned=True)
            except ApiError as error:
                if _is_gone(error):
                    return
            else:
                log.info("device_plugin.mark_written", pod=str(pod.ref))
                return


def _is_gone(error: ApiError) -> bool:
    return isinstance(error, RefusedError) and error.status in GONE
