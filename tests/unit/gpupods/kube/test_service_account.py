from __future__ import annotations

from pathlib import Path

import pytest

from gpupods.kube.service_account import InCluster

HERE = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("one\n")
    (tmp_path / "ca.crt").write_text("certificates\n")
    return tmp_path


def test_address_authority_and_token(folder: Path) -> None:
    account = InCluster(folder).load(HERE)
    assert account.host == "https://10.0.0.1:443"
    assert account.ssl_ca_cert == str(folder / "ca.crt")
    assert account.get_api_key_with_prefix() == "Bearer one"


def test_the_token_is_the_one_of_now(folder: Path) -> None:
    account = InCluster(folder).load(HERE)
    (folder / "token").write_text("two")
    assert account.get_api_key_with_prefix() == "Bearer two"


def test_an_ipv6_cluster(folder: Path) -> None:
    account = InCluster(folder).load({**HERE, "KUBERNETES_SERVICE_HOST": "fd00::1"})
    assert account.host == "https://[fd00::1]:443"


@pytest.mark.parametrize(
    ("missing", "said"),
    [("token", "token.*automountServiceAccountToken"), ("ca.crt", "ca.crt.*automount")],
)
def test_a_file_is_missing(folder: Path, missing: str, said: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(ValueError, match=said):
        InCluster(folder).load(HERE)


@pytest.mark.parametrize("empty", ["token", "ca.crt"])
def test_a_file_is_empty(folder: Path, empty: str) -> None:
    (folder / empty).write_text("")
    with pytest.raises(ValueError, match=f"{empty} is empty"):
        InCluster(folder).load(HERE)


@pytest.mark.parametrize("unset", list(HERE))
def test_outside_a_pod(folder: Path, unset: str) -> None:
    with pytest.raises(ValueError, match="Outside a pod, name a kubeconfig"):
        InCluster(folder).load({**HERE, unset: ""})
