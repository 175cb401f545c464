"""A list of everything of one kind, in batches, as it comes from the server.

Requests and the taking apart of answers run ahead of whoever decodes the batches, so that the
server works on the next page while this one is decoded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from gpupods.kube.api import KubeApi
from gpupods.kube.encoding import Encoding, Resource
from gpupods.kube.failures import MalformedError

T = TypeVar("T")

BATCHES_AHEAD = 8
"""Some megabytes at most: a batch is what the network brings at once, or a page of JSON."""


@dataclass(frozen=True, slots=True)
class Batch(Generic[T]):
    """Objects of a list, still encoded."""

    encoding: Encoding[T]
    items: list[Any]


Arrival: TypeAlias = "Batch[T] | Exception | None"


class Listing(Generic[T]):
    """One list, to be read once by `batches`.

    Args:
        api: The server.
        resource: What to list.
        page_size: Objects to ask for at once; a server that answers from memory may ignore it.
        version: "0" for what the server has in its memory, which may lag and is cheap; "" for
            what is true now.
    """

    def __init__(self, api: KubeApi, resource: Resource[T], page_size: int, version: str) -> None:
        self.version = ""
        """Of the list; known when `batches` has ended."""
        self.answered = False
        """Whether the server has begun to answer."""
        self._api = api
        self._resource = resource
        self._page_size = page_size
        self._from_version = version

    async def batches(self) -> AsyncGenerator[Batch[T], None]:
        """All objects. To be closed by `contextlib.aclosing` where it may not be read to its end.

        Raises:
            GoneError: a page's token has expired: begin again.
            ApiError: the list broke off.
        """
        arrivals: asyncio.Queue[Arrival[T]] = asyncio.Queue(BATCHES_AHEAD)
        fetching = asyncio.create_task(self._fetch(arrivals))
        try:
            while (arrival := await arrivals.get()) is not None:
                if isinstance(arrival, Exception):
                    raise arrival
                yield arrival
            if not self.version:
                raise MalformedError(f"{self._resource.path}: a list without a resourceVersion")
        finally:
            fetching.cancel()
            await asyncio.gather(fetching, return_exceptions=True)

    async def _fetch(self, arrivals: asyncio.Queue[Arrival[T]]) -> None:
        """Put all batches, then None, or the error that ended them."""
        try:
            token = ""
            while True:
                token = await self._fetch_page(token, arrivals)
                if not token:
                    break
        except Exception as error:  # noqa: BLE001 - raised again where batches are awaited
            await arrivals.put(error)
        else:
            await arrivals.put(None)

    async def _fetch_page(self, token: str, arrivals: asyncio.Queue[Arrival[T]]) -> str:
        """Put the batches of one page; return the next one's token, "" after the last."""
        async with self._api.list_page(
            self._resource, limit=self._page_size, version=self._from_version, token=token
        ) as stream:
            self.answered = True
            reader = stream.encoding.page_reader()
            async for data in stream.chunks:
                if items := reader.feed(data):
                    await arrivals.put(Batch(stream.encoding, items))
            page = reader.finish()
        self.version = page.version
        # The consumer has its turn when the next request is on its way.
        if page.items:
            await arrivals.put(Batch(stream.encoding, page.items))
        return page.continue_token
