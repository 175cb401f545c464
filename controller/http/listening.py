"""The socket an HTTP server listens on, and a graceful end of it."""

from __future__ import annotations

import contextlib
import socket

from aiohttp import web

from gpupods.addresses import HostPort

BACKLOG = 128
EVERY_ADDRESS = "::"


class Listener:
    """Something that listens at ``address`` until it is closed."""

    def __init__(self, runner: web.ServerRunner, server: web.Server, address: HostPort) -> None:
        self.address = address
        self._runner = runner
        self._server = server

    async def close(self, grace_s: float) -> None:
        """Stop listening, drop idle connections, wait ``grace_s`` for the others, cut the rest."""
        for site in self._runner.sites:
            await site.stop()
        self._server.pre_shutdown()
        await self._server.shutdown(grace_s)
        await self._runner.cleanup()


async def listen(server: web.Server, where: HostPort) -> Listener:
    """Let ``server`` serve at ``where``; port 0 finds a free one.

    Raises:
        OSError: the address cannot be listened on.
    """
    runner = web.ServerRunner(server)
    await runner.setup()
    sock = _bind(where)
    try:
        await web.SockSite(runner, sock).start()
    except BaseException:
        sock.close()
        raise
    port: int = sock.getsockname()[1]
    return Listener(runner, server, HostPort(where.host, port))


def _bind(where: HostPort) -> socket.socket:
    address = (where.host, where.port)
    try:
        if where.host != EVERY_ADDRESS:
            family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server(address, family=family, backlog=BACKLOG)
        with contextlib.suppress(OSError):
            return socket.create_server(
                address, family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True
            )
        # A machine without IPv6, most likely; if not, this says what is wrong.
        return socket.create_server(("0.0.0.0", where.port), backlog=BACKLOG)
    except OSError as error:
        raise OSError(
            f"cannot listen on {where}: {error.strerror}: is it in use, is it ours?"
        ) from error
