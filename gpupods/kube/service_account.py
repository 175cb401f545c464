"""The files and variables that Kubernetes gives to each pod, read without any package.

The node agent reads these, and 20 MB of the `kubernetes` package on every node would buy nothing
else. The token is read for every request: the kubelet replaces it long before it expires.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class InCluster:
    """A pod's own service account.

    Attributes:
        folder: Where the kubelet mounts it.
    """

    folder: Path = FOLDER

    def __str__(self) -> str:
        """For messages."""
        return "in-cluster configuration"

    def load(self, environment: Mapping[str, str] = os.environ) -> ServiceAccount:
        """Find them.

        Raises:
            ValueError: one is missing or empty.
        """
        host = environment.get("KUBERNETES_SERVICE_HOST", "")
        port = environment.get("KUBERNETES_SERVICE_PORT", "")
        if not host or not port:
            raise ValueError(
                f"{self}: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set."
                " Outside a pod, name a kubeconfig file instead"
            )
        account = ServiceAccount(f"https://{f'[{host}]' if ':' in host else host}:{port}", self)
        try:
            account.get_api_key_with_prefix()
            if not (self.folder / "ca.crt").stat().st_size:
                raise ValueError(f"{self}: {self.folder}/ca.crt is empty")
        except OSError as error:
            raise ValueError(
                f"{self}: {error}. Does the pod mount its service account's token"
                " (automountServiceAccountToken)? Outside a pod, name a kubeconfig file instead"
            ) from error
        return account


class ServiceAccount:
    """As much of kubernetes.client.Configuration as `gpupods.kube.access` uses."""

    proxy = None
    tls_server_name = None
    cert_file = None
    key_file = None
    verify_ssl = True

    def __init__(self, host: str, source: InCluster) -> None:
        self.host = host
        self._source = source
        self.ssl_ca_cert = str(source.folder / "ca.crt")
        self.refresh_api_key_hook = self.get_api_key_with_prefix

    def get_api_key_with_prefix(self, *_: str) -> str:
        """The value for the Authorization header.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is empty.
        """
        token = (self._source.folder / "token").read_text().strip()
        if not token:
            raise ValueError(f"{self._source}: {self._source.folder}/token is empty")
        return f"Bearer {token}"
