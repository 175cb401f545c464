"""Who is who in the cluster: the API server's certificate, and a token for each part.

Kubernetes' own roles are bound to the names and groups used here, so that each part
has the rights that it has in a real cluster.
"""

from __future__ import annotations

import base64
import json
import secrets
from pathlib import Path
from typing import Final

import trustme

from tests.cluster.addresses import AddressPlan

ADMIN: Final = "admin"
CONTROLLER_MANAGER: Final = "system:kube-controller-manager"
SCHEDULER: Final = "system:kube-scheduler"
PROXY: Final = "system:kube-proxy"


def node_user(name: str) -> str:
    """The name under which the kubelet of a node is authorized."""
    return f"system:node:{name}"


class Credentials:
    """The files of a cluster's credentials, all in `folder`."""

    def __init__(self, folder: Path, plan: AddressPlan, nodes: tuple[str, ...]) -> None:
        folder.mkdir()
        self._folder = folder
        self._plan = plan
        self.ca = folder / "ca.pem"
        self.certificate = folder / "server.pem"
        self.key = folder / "server.key"
        self.tokens = folder / "tokens.csv"
        users = [ADMIN, CONTROLLER_MANAGER, SCHEDULER, PROXY, *map(node_user, nodes)]
        self._token_of = {user: secrets.token_hex(16) for user in users}
        self._write_certificates()
        self.tokens.write_text("".join(map(self._token_line, users)))

    @property
    def admin_token(self) -> str:
        return self._token_of[ADMIN]

    def kubeconfig(self, user: str) -> Path:
        """The kubeconfig of a user, complete in itself; written when first asked for."""
        path = self._folder / f"{user.replace(':', '-')}.kubeconfig"
        if not path.exists():
            # JSON is YAML.
            path.write_text(json.dumps(self._kubeconfig(user), indent=1))
            path.chmod(0o600)
        return path

    def _write_certificates(self) -> None:
        authority = trustme.CA()
        certificate = authority.issue_cert(
            self._plan.control_plane,
            self._plan.api_service,
            "127.0.0.1",
            "localhost",
            "kubernetes.default.svc",
        )
        authority.cert_pem.write_to_path(self.ca)
        certificate.cert_chain_pems[0].write_to_path(self.certificate)
        certificate.private_key_pem.write_to_path(self.key)

    def _token_line(self, user: str) -> str:
        groups = {ADMIN: "system:masters"}
        group = "system:nodes" if user.startswith("system:node:") else groups.get(user, "")
        return f'{self._token_of[user]},{user},{user},"{group}"\n'

    def _kubeconfig(self, user: str) -> dict[str, object]:
        authority = base64.b64encode(self.ca.read_bytes()).decode()
        cluster = {"server": self._plan.api_url, "certificate-authority-data": authority}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "gpupods-test", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self._token_of[user]}}],
            "contexts": [
                {"name": "gpupods-test", "context": {"cluster": "gpupods-test", "user": user}}
            ],
            "current-context": "gpupods-test",
        }
