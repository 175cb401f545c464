"""Serves /metrics, and nothing else, over HTTP."""

from __future__ import annotations

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from gpupods.addresses import HostPort

log = structlog.get_logger()


class MetricsServer:
    """Answers scrapes at ``listen`` with what ``collector`` knows."""

    def __init__(self, collector: Collector, listen: HostPort) -> None:
        self._listen = listen
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(collector)
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: it cannot listen there.
        """
        app = web.Application()
        app.router.add_get("/metrics", self._scraped)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, self._listen.host, self._listen.port)
        try:
            await site.start()
        except OSError as error:
            await runner.cleanup()
            raise OSError(f"cannot serve metrics at {self._listen}: {error.strerror}") from error
        self._runner = runner
        host, port = runner.addresses[0][:2]
        log.info("metrics are served", http=str(HostPort(host, port)))

    async def stop(self) -> None:
        """Listen no longer."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _scraped(self, request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(self._registry), headers={"Content-Type": content_type})
