"""Tokens expire while we run: the next request must carry the new one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from gpupods.kube.access import KubeAccess
from gpupods.kube.service_account import InCluster, ServiceAccount
from tests.failures.kube_script import ScriptedApiServer, following, pod, refuse, status, until

PLUGIN = """\
import json, sys
from pathlib import Path
token = Path(sys.argv[1]).read_text()
print(json.dumps({
    "apiVersion": "client.authentication.k8s.io/v1",
    "kind": "ExecCredential",
    "status": {"token": token, "expirationTimestamp": "2020-01-01T00:00:00Z"},
}))
"""


def only(token: Callable[[], str]) -> Callable[[web.Request], web.Response | None]:
    """Refuse every request with another token."""

    def check(request: web.Request) -> web.Response | None:
        if request.headers.get("Authorization", "").lower() == f"bearer {token()}":
            return None
        return web.json_response(status(401, "Unauthorized"), status=401)

    return check


def kubeconfig(folder: Path, url: str, user: dict[str, Any]) -> str:
    path = folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(json.dumps(content))
    return str(path)


def read(path: Path) -> str:
    return path.read_text()


def write(path: Path, text: str) -> None:
    path.write_text(text)


def remove(path: Path) -> None:
    path.unlink()


async def follow_a_rotation(server: ScriptedApiServer, access: KubeAccess, token: Path) -> None:
    """Follow with the first token; then only the second is accepted."""
    await server.put(pod("first"))
    accepted = read(token).strip()
    server.check = only(lambda: accepted)
    async with following(server, access=access) as followed:
        await until(lambda: followed.names() == {"first"}, "the list with the first token")
        write(token, "second\n")
        accepted = "second"
        await server.vanish()
        await server.listen()
        await server.put(pod("second"))
        await until(lambda: followed.names() == {"first", "second"}, "the watch with the second")
    assert server.asked.tokens[-1].lower() == "bearer second"


async def test_a_token_file_of_a_kubeconfig(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    async with ScriptedApiServer() as server:
        user = {"tokenFile": str(token)}
        access = KubeAccess.load(kubeconfig(tmp_path, server.url, user))
        await follow_a_rotation(server, access, token)


async def test_a_credential_plugin(tmp_path: Path) -> None:
    token, plugin = tmp_path / "token", tmp_path / "plugin.py"
    token.write_text("first")
    plugin.write_text(PLUGIN)
    async with ScriptedApiServer() as server:
        user = {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": sys.executable,
                "args": [str(plugin), str(token)],
            }
        }
        access = KubeAccess.load(kubeconfig(tmp_path, server.url, user))
        await follow_a_rotation(server, access, token)


async def test_the_files_of_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real loader on files of our own; TLS is left out by its http address."""
    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("first\n")
    authority.write_text("unused over http\n")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    async with ScriptedApiServer() as server:

        def load() -> ServiceAccount:
            account = InCluster(tmp_path).load()
            account.host = server.url
            return account

        await follow_a_rotation(server, KubeAccess("in-cluster configuration", load), token)


async def test_a_reload_that_fails_is_told_and_tried_again(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    async with ScriptedApiServer() as server:
        await server.put(pod("one"))
        path = kubeconfig(tmp_path, server.url, {"tokenFile": str(token)})
        access = KubeAccess.load(path)
        content = read(Path(path))

        async def break_kubeconfig(request: web.Request) -> web.StreamResponse:
            remove(Path(path))
            return await refuse(401, "Unauthorized")(request)

        server.next_lists.append(break_kubeconfig)
        async with following(server, access=access) as followed:
            await until(lambda: followed.reflector.status.failures >= 3, "three failures")
            assert "no such file" in followed.reflector.status.last_error
            assert len(server.asked.lists) == 1, "not asked again without credentials"
            write(Path(path), content)
            await until(lambda: followed.names() == {"one"}, "the list")
