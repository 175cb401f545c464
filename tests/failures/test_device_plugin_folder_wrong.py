"""The kubelet's folder is not where the agent looks: it says so once, and goes on looking."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence

from structlog.testing import capture_logs

from tests.pluginbed import bed, until


async def test_it_is_said_and_what_to_set() -> None:
    with capture_logs() as logged:
        async with bed(kubelet=False) as made:
            shutil.rmtree(made.folder)
            await until(lambda: problems(logged))
            made.folder.mkdir()
            await made.kubelet.start()
            await made.until_offered()
    (said,) = set(problems(logged))
    assert "there is no kubelet.sock in" in said
    assert "--kubelet-plugins-dir" in said


def problems(logged: Sequence[Mapping[str, object]]) -> list[str]:
    return [
        str(each["error"]) for each in logged if each["event"] == "device_plugin.not_registered"
    ]
