"""The way to the API server: its address, TLS, and credentials that may change at any time.

Reading them is `gpupods.kube.kubeconfig`'s; this gives each its deadline and keeps them fresh:
a token that rotates is asked for before every request, and everything is read again after the
server has refused it.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import TypeVar

from gpupods.kube import kubeconfig as sources
from gpupods.kube.deadline import OneAtATime, start
from gpupods.kube.failures import UnreachableError

T = TypeVar("T")

CREDENTIALS_LIMIT_S = 30.0
"""For a credential plugin, which may well ask a cloud."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the API server is, and how to trust it.

    Attributes:
        base_url: Without a slash at its end; may have a path.
        tls: None for plain HTTP.
        server_hostname: The name in the server's certificate, None for the one in the URL.
        proxy: An HTTP proxy's URL, None for a direct connection.
    """

    base_url: str
    tls: ssl.SSLContext | None = None
    server_hostname: str | None = None
    proxy: str | None = None


class KubeAccess:
    """Address and credentials of one API server.

    Args:
        source: Says in messages where they come from.
        load: Reads them; blocks; raises ValueError. Called again on `reload`.

    Raises:
        ValueError: they cannot be read, in one line.
    """

    def __init__(self, source: str, load: Callable[[], sources.Configuration]) -> None:
        self.source = source
        self._load = load
        self._calls = OneAtATime()
        self._turn = asyncio.Lock()
        try:
            loaded = start(self._read).result(CREDENTIALS_LIMIT_S)
        except FutureTimeoutError:
            raise ValueError(
                f"{source}: no credentials within {CREDENTIALS_LIMIT_S:g} s."
                " Does its credential plugin wait for somebody?"
            ) from None
        self._configuration, self.endpoint = loaded

    @classmethod
    def load(cls, kubeconfig: str = "", context: str = "") -> KubeAccess:
        """Find and read the configuration, as kubectl does, or as a pod has it.

        Args:
            kubeconfig: A file; "" is KUBECONFIG, else ~/.kube/config, else the pod's own files.
            context: Of the kubeconfig; "" is its current one.

        Raises:
            ValueError: what is wrong, in one line.
        """
        source = sources.source_of_access(kubeconfig, context)
        return cls(str(source), source.load)

    @classmethod
    def without_credentials(cls, base_url: str) -> KubeAccess:
        """For a server on loopback that asks for none."""
        return cls(base_url, lambda: _Bare(base_url))

    async def headers(self) -> dict[str, str]:
        """For the next request: the token as it is now.

        Raises:
            UnreachableError: the credentials could not be had.
        """
        configuration = self._configuration
        if configuration.refresh_api_key_hook is None:
            token = sources.token_of(configuration)
        else:
            token = await self._call(lambda: sources.token_of(configuration))
        return {"Authorization": token} if token else {}

    async def reload(self) -> None:
        """Read everything again: address, certificates, tokens that come from files.

        Raises:
            UnreachableError: that failed; what was known before stays.
        """
        self._configuration, self.endpoint = await self._call(self._read)

    async def _call(self, work: Callable[[], T]) -> T:
        try:
            async with self._turn:  # requests begin at the same moment, one of each reflector
                return await self._calls.call(work, CREDENTIALS_LIMIT_S)
        except TimeoutError as error:
            reason = str(error) or f"nothing within {CREDENTIALS_LIMIT_S:g} s"
            raise UnreachableError(f"credentials of {self.source}: {reason}") from error
        except Exception as error:
            raise UnreachableError(f"credentials of {self.source}: {error}") from error

    def _read(self) -> tuple[sources.Configuration, Endpoint]:
        configuration = self._load()
        return configuration, _endpoint(self.source, configuration)


class _Bare:
    """As much of kubernetes.client.Configuration as is used, without importing it."""

    refresh_api_key_hook = None
    proxy = None

    def __init__(self, host: str) -> None:
        self.host = host

    def get_api_key_with_prefix(self, *_: str) -> None:
        return None


def _endpoint(source: str, configuration: sources.Configuration) -> Endpoint:
    base_url: str = configuration.host.rstrip("/")
    scheme, _, rest = base_url.partition("://")
    if scheme not in {"http", "https"} or not rest:
        raise ValueError(f"{source}: the server's address {base_url!r} is not an http(s) URL")
    if scheme == "http":
        return Endpoint(base_url, proxy=configuration.proxy or None)
    return Endpoint(
        base_url,
        _tls(source, configuration),
        configuration.tls_server_name or None,
        configuration.proxy or None,
    )


def _tls(source: str, configuration: sources.Configuration) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert or None)
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, configuration.key_file or None)
    except (OSError, ssl.SSLError) as error:
        files = [configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file]
        named = ", ".join(file for file in files if file)
        raise ValueError(f"{source}: cannot use the certificates in {named}: {error}") from error
    # Kubernetes' own authorities often lack what strict checking (Python 3.13's default) asks for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
