from __future__ import annotations

import asyncio
import threading

from gpupods.kube.access import KubeAccess
from gpupods.kube.kubeconfig import Configuration


class Rotating:
    """A configuration whose token has to be asked for each time, which takes until `release`."""

    host = "http://127.0.0.1:1"
    proxy = None

    def __init__(self, release: threading.Event) -> None:
        self._release = release
        self.asked = 0
        self.refresh_api_key_hook = object()

    def get_api_key_with_prefix(self, *_: str) -> str:
        self.asked += 1
        self._release.wait(20)
        return f"Bearer {self.asked}"


async def test_requests_that_begin_together_all_get_a_token() -> None:
    """As the reflectors' first ones do, in a pod: none may take the other for one that hangs."""
    release = threading.Event()
    rotating = Rotating(release)

    def load() -> Configuration:
        return rotating

    access = KubeAccess("test", load)
    asking = [asyncio.create_task(access.headers()) for _ in range(3)]
    while not rotating.asked:  # noqa: ASYNC110 - a thread counts
        await asyncio.sleep(0.001)
    release.set()
    answers = await asyncio.gather(*asking)
    assert sorted(each["Authorization"] for each in answers) == ["Bearer 1", "Bearer 2", "Bearer 3"]
