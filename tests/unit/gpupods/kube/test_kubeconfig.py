"""Wrong kubeconfigs: each is one line that says what is wrong and what to try."""

from __future__ import annotations

import json
import os
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from gpupods.kube.access import KubeAccess
from gpupods.kube.kubeconfig import Kubeconfig, source_of_access
from gpupods.kube.service_account import InCluster

GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443/prefix/"}}],
    "users": [{"name": "u", "user": {"token": "secret"}}],
    "contexts": [
        {"name": "x", "context": {"cluster": "c", "user": "u"}},
        {"name": "y", "context": {"cluster": "c", "user": "u"}},
    ],
    "current-context": "x",
}


def written(folder: Path, content: object) -> str:
    path = folder / "kubeconfig"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


@pytest.mark.parametrize(
    ("content", "context", "told"),
    [
        ("", "", "empty"),
        ("{not yaml", "", "not YAML"),
        ("just text", "", "not a kubeconfig"),
        ("[1, 2]", "", "not a kubeconfig"),
        (GOOD, "z", "no context 'z'. It has x, y"),
        (GOOD | {"current-context": ""}, "", "no current context. Choose one of x, y"),
        (GOOD | {"contexts": []}, "", "It has none at all"),
        (GOOD | {"clusters": []}, "", "name c"),
        (GOOD | {"clusters": [{"name": "c", "cluster": {"server": "nowhere"}}]}, "", "'nowhere'"),
        (
            GOOD
            | {
                "clusters": [
                    {
                        "name": "c",
                        "cluster": {"server": "https://a", "certificate-authority": "/no/ca.pem"},
                    }
                ]
            },
            "",
            "/no/ca.pem",
        ),
        (
            GOOD
            | {
                "clusters": [
                    {
                        "name": "c",
                        "cluster": {
                            "server": "https://a",
                            "certificate-authority-data": "bm90IGEgY2VydGlmaWNhdGU=",
                        },
                    }
                ]
            },
            "",
            "cannot use the certificates",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, content: object, context: str, told: str
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ValueError, match="kubeconfig") as caught:
        KubeAccess.load(path, context)
    assert told in str(caught.value)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no such file\. Name one that exists"):
        KubeAccess.load(str(tmp_path / "none"))


async def test_a_good_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid:3128")
    access = KubeAccess.load(written(tmp_path, GOOD), "y")
    assert access.endpoint.base_url == "https://127.0.0.1:6443/prefix"
    assert access.endpoint.proxy is None, "the environment's proxy is not for the API server"
    assert access.endpoint.tls is not None
    assert access.endpoint.tls.verify_mode is ssl.CERT_REQUIRED
    assert await access.headers() == {"Authorization": "Bearer secret"}


def test_client_certificate_proxy_and_server_name(tmp_path: Path) -> None:
    authority = trustme.CA()
    identity = authority.issue_cert("someone@example.com")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    identity.private_key_and_cert_chain_pem.write_to_path(tmp_path / "client.pem")
    cluster = {
        "server": "https://127.0.0.1:6443",
        "certificate-authority": "ca.pem",
        "tls-server-name": "kubernetes",
        "proxy-url": "http://proxy.invalid:3128",
    }
    user = {"client-certificate": "client.pem", "client-key": "client.pem"}
    content = GOOD | {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    endpoint = KubeAccess.load(written(tmp_path, content)).endpoint
    assert endpoint.server_hostname == "kubernetes"
    assert endpoint.proxy == "http://proxy.invalid:3128"
    assert endpoint.tls is not None
    assert len(endpoint.tls.get_ca_certs()) == 1


def test_where_it_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ValueError, match="no way to the Kubernetes API"):
        source_of_access("", "")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert source_of_access("", "") == InCluster()
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(json.dumps(GOOD))
    assert source_of_access("", "") == Kubeconfig("~/.kube/config")
    monkeypatch.setenv("KUBECONFIG", "/a" + os.pathsep + "/b")
    assert source_of_access("", "") == Kubeconfig("/a" + os.pathsep + "/b")
    assert source_of_access("/c", "ctx") == Kubeconfig("/c", "ctx")


def test_outside_a_pod_the_pods_files_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(ValueError, match=r"in-cluster configuration: .*name a kubeconfig"):
        InCluster().load()
