"""The control plane: etcd, kube-apiserver, kube-controller-manager and kube-scheduler.

They run on a machine of their own, which has no kubelet. Every admission plugin that is on
by default is on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import urllib3

from tests.cluster.addresses import API_PORT, AddressPlan
from tests.cluster.credentials import CONTROLLER_MANAGER, SCHEDULER, Credentials
from tests.realparts.kubeapi import ApiError, KubeApi

if TYPE_CHECKING:
    from tests.cluster.machine import Machine
    from tests.cluster.parts import ClusterParts
    from tests.realparts.processes import Child

_ETCD_CLIENTS: Final = 2379
_ETCD_PEERS: Final = 2380


class ControlPlane:
    """The four servers. `api` asks as the administrator."""

    def __init__(
        self, parts: ClusterParts, machine: Machine, plan: AddressPlan, credentials: Credentials
    ) -> None:
        self.machine = machine
        self._parts = parts
        self._plan = plan
        self._credentials = credentials
        self._apiserver: Child | None = None
        self.api = KubeApi(plan.api_url, credentials.ca, credentials.admin_token)

    def start(self) -> None:
        """Start all four; returns when the API server is ready."""
        self._start_etcd()
        self.start_apiserver()
        self._start_followers()

    def start_apiserver(self) -> None:
        """Start the API server and wait until it is ready; its objects are those of before."""
        self._apiserver = self.machine.start(
            "kube-apiserver",
            [self._parts.base.kube_apiserver, *self._apiserver_flags()],
            ready=self.api.ready,
        )

    def stop_apiserver(self) -> None:
        """Stop the API server alone: connections to it are refused."""
        if self._apiserver is not None:
            self.machine.stop(self._apiserver)
            self._apiserver = None

    def namespace_ready(self, namespace: str) -> bool:
        """Whether pods can be made in the namespace: it has got its service account."""
        try:
            self.api.get(f"/api/v1/namespaces/{namespace}/serviceaccounts/default")
            self.api.get(f"/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt")
        except (urllib3.exceptions.HTTPError, ApiError):
            return False
        return True

    def _start_etcd(self) -> None:
        clients = f"http://127.0.0.1:{_ETCD_CLIENTS}"
        peers = f"http://127.0.0.1:{_ETCD_PEERS}"
        log = self.machine.folder.with_name(f"{self.machine.name}-etcd.log")
        self.machine.start(
            "etcd",
            [
                self._parts.base.etcd,
                f"--data-dir={self.machine.folder / 'etcd'}",
                f"--listen-client-urls={clients}",
                f"--advertise-client-urls={clients}",
                f"--listen-peer-urls={peers}",
                f"--initial-advertise-peer-urls={peers}",
                f"--initial-cluster=default={peers}",
                "--unsafe-no-fsync",
            ],
            # Its port is the machine's own, and not to be asked from here.
            ready=lambda: b"ready to serve client requests" in log.read_bytes(),
        )

    def _start_followers(self) -> None:
        """Those that wait for the API server by themselves."""
        credentials = self._credentials
        self.machine.start(
            "kube-controller-manager",
            [
                self._parts.controller_manager,
                f"--kubeconfig={credentials.kubeconfig(CONTROLLER_MANAGER)}",
                f"--service-account-private-key-file={credentials.key}",
                f"--root-ca-file={credentials.ca}",
                "--use-service-account-credentials",
                "--leader-elect=false",
            ],
            ready=lambda: self.namespace_ready("default"),
        )
        self.machine.start(
            "kube-scheduler",
            [
                self._parts.scheduler,
                f"--kubeconfig={credentials.kubeconfig(SCHEDULER)}",
                "--leader-elect=false",
            ],
            ready=lambda: True,
        )

    def _apiserver_flags(self) -> list[str]:
        credentials, address = self._credentials, self._plan.control_plane
        return [
            f"--etcd-servers=http://127.0.0.1:{_ETCD_CLIENTS}",
            f"--bind-address={address}",
            f"--advertise-address={address}",
            f"--secure-port={API_PORT}",
            f"--cert-dir={self.machine.folder / 'certificates'}",
            f"--tls-cert-file={credentials.certificate}",
            f"--tls-private-key-file={credentials.key}",
            f"--token-auth-file={credentials.tokens}",
            "--authorization-mode=Node,RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={credentials.key}",
            f"--service-account-signing-key-file={credentials.key}",
            f"--service-cluster-ip-range={self._plan.services}",
            # Nodes' names are in no DNS.
            "--kubelet-preferred-address-types=InternalIP",
            "--allow-privileged",
        ]
