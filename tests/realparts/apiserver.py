"""A real kube-apiserver with its etcd on loopback, in a temporary folder.

There is no other part of Kubernetes: no scheduler, no controllers, no kubelet. Its
objects are made and kept up to date by the tests, through `api`.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
from typing import TYPE_CHECKING, Final, Self

import trustme
import urllib3

from tests.realparts import etcdload
from tests.realparts.kubeapi import KubeApi
from tests.realparts.processes import PartFailedError, Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.realparts.objects import Json
    from tests.realparts.parts import Parts
    from tests.realparts.processes import Child

_LOOPBACK: Final = "127.0.0.1"
_KUBECTL_TIMEOUT_S: Final = 60
# Seconds on an idle machine; after a `load` the server reads all of it before it is ready.
_READY_S: Final = 300.0

# Off: what would refuse or change a bare pod, or costs time for each of 20,000.
_ADMISSION_OFF: Final = (
    "ServiceAccount,TaintNodesByCondition,PodSecurity,Priority,DefaultTolerationSeconds,"
    "LimitRanger,ResourceQuota,RuntimeClass,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,"
    "MutatingAdmissionPolicy,ValidatingAdmissionPolicy"
)


class Apiserver:
    """The API server; `url`, `ca`, `token` and `kubeconfig` are the administrator's way in."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._supervisor = Supervisor()
        self._folder = self._supervisor.folder
        self._etcd_url = f"http://{_LOOPBACK}:{_free_port()}"
        self._port = _free_port()
        self._server: Child | None = None
        self.url = f"https://{_LOOPBACK}:{self._port}"
        self.token = secrets.token_hex(16)
        self.ca = self._folder / "ca.pem"
        self.kubeconfig = self._folder / "kubeconfig"
        self._write_credentials()
        self.api = KubeApi(self.url, self.ca, self.token)

    def __enter__(self) -> Self:
        try:
            self._start_etcd()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the server and wait until it is ready; its objects are those of before."""
        self._server = self._supervisor.start(
            "kube-apiserver",
            [self._parts.kube_apiserver, *self._flags()],
            ready=self.api.ready,
            deadline_s=_READY_S,
        )

    def stop(self) -> None:
        """Stop the server, not etcd: watches break off, connections are refused."""
        if self._server is not None:
            self._supervisor.stop(self._server)
            self._server = None

    def restart(self) -> None:
        """Stop and start the server, on the same port and with the same objects."""
        self.stop()
        self.start()

    def load(self, objects: Iterable[Json]) -> int:
        """Put many nodes and pods, status included, into the store; how many they were.

        Restarts the server. See `etcdload` for what an object must have.
        """
        self.stop()
        written = etcdload.load(self._etcd_url, objects)
        self.start()
        return written

    def close(self) -> None:
        """Stop both servers and remove their data."""
        self._supervisor.close()

    @property
    def pid(self) -> int:
        """The running server's pid."""
        if self._server is None:
            raise PartFailedError("kube-apiserver is stopped: start() it first")
        return self._server.pid

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """What the real kubectl prints, as the administrator."""
        done = subprocess.run(
            [self._parts.kubectl, *arguments],
            # HOME: kubectl keeps what it discovered there, and would remember it.
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self._folder)},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_KUBECTL_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            raise PartFailedError(f"kubectl {' '.join(arguments)} failed: {done.stderr.strip()}")
        return done.stdout

    def _start_etcd(self) -> None:
        peer = f"http://{_LOOPBACK}:{_free_port()}"
        self._supervisor.start(
            "etcd",
            [
                self._parts.etcd,
                f"--data-dir={self._folder / 'etcd'}",
                f"--listen-client-urls={self._etcd_url}",
                f"--advertise-client-urls={self._etcd_url}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--unsafe-no-fsync",
                "--quota-backend-bytes=8589934592",
                "--max-request-bytes=16777216",
            ],
            ready=self._etcd_answers,
        )

    def _etcd_answers(self) -> bool:
        try:
            answer = urllib3.request("GET", f"{self._etcd_url}/health", retries=False, timeout=2.0)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == 200

    def _flags(self) -> list[str]:
        folder = self._folder
        return [
            f"--etcd-servers={self._etcd_url}",
            f"--bind-address={_LOOPBACK}",
            f"--secure-port={self._port}",
            f"--advertise-address={_LOOPBACK}",
            # Endpoints of the Service `kubernetes` may not be on loopback.
            "--endpoint-reconciler-type=none",
            f"--cert-dir={folder / 'certificates'}",
            f"--tls-cert-file={folder / 'server.pem'}",
            f"--tls-private-key-file={folder / 'server.key'}",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={folder / 'server.key'}",
            f"--service-account-signing-key-file={folder / 'server.key'}",
            "--service-cluster-ip-range=10.96.0.0/24",
            f"--disable-admission-plugins={_ADMISSION_OFF}",
            "--allow-privileged",
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=4000",
            "--max-mutating-requests-inflight=4000",
        ]

    def _write_credentials(self) -> None:
        authority = trustme.CA()
        certificate = authority.issue_cert(_LOOPBACK, "localhost")
        authority.cert_pem.write_to_path(self.ca)
        certificate.cert_chain_pems[0].write_to_path(self._folder / "server.pem")
        certificate.private_key_pem.write_to_path(self._folder / "server.key")
        (self._folder / "tokens.csv").write_text(f"{self.token},admin,admin,system:masters\n")
        self.kubeconfig.write_text(json.dumps(_kubeconfig(self.url, self.ca, self.token)))


def _kubeconfig(url: str, ca: Path, token: str) -> dict[str, object]:
    """A kubeconfig; JSON is YAML."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": {"server": url, "certificate-authority": str(ca)}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "admin"}}],
        "current-context": "e2e",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
