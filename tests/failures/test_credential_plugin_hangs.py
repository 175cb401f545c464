"""A credential plugin that never ends, or gives nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpupods.kube import access as access_module
from gpupods.kube.access import KubeAccess
from tests.failures.kube_script import ScriptedApiServer, following, pod, refuse, until
from tests.failures.test_token_rotated import PLUGIN, kubeconfig


def plugin_user(script: Path, *args: str) -> dict[str, object]:
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(script), *args],
        }
    }


def test_at_the_start_it_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_module, "CREDENTIALS_LIMIT_S", 0.3)
    script = tmp_path / "plugin.py"
    script.write_text("import sys; sys.stdin.read(); import time; time.sleep(60)")
    with pytest.raises(ValueError, match="no credentials within"):
        KubeAccess.load(kubeconfig(tmp_path, "http://127.0.0.1:1", plugin_user(script)))


async def test_later_the_event_loop_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one hanging attempt is all there is: it is not started again meanwhile."""
    token, script = tmp_path / "token", tmp_path / "plugin.py"
    token.write_text("first")
    started = tmp_path / "started"
    script.write_text(PLUGIN)
    async with ScriptedApiServer() as server:
        await server.put(pod("one"))
        access = KubeAccess.load(kubeconfig(tmp_path, server.url, plugin_user(script, str(token))))
        script.write_text(f"open({str(started)!r}, 'a').write('x'); import time; time.sleep(60)")
        monkeypatch.setattr(access_module, "CREDENTIALS_LIMIT_S", 0.2)
        server.next_lists.append(refuse(401, "Unauthorized"))
        async with following(server, access=access) as followed:
            await until(lambda: followed.reflector.status.failures >= 4, "four failures")
            assert "still hangs" in followed.reflector.status.last_error
    assert started.read_text() in {"", "x"}


def test_one_that_fails_is_named_with_what_it_said(tmp_path: Path) -> None:
    script = tmp_path / "plugin.py"
    script.write_text("import sys; sys.exit('please log in first')")
    with pytest.raises(ValueError, match="please log in first") as caught:
        KubeAccess.load(kubeconfig(tmp_path, "http://127.0.0.1:1", plugin_user(script)))
    assert "credential plugin" in str(caught.value)
    assert "\n" not in str(caught.value)
