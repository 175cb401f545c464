"""The API server has done what it was asked, and its answer is lost: nobody is told less for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpupods.kube.api import KubeApi
from gpupods.kube.failures import UnreachableError
from tests.reportbed import QUICK, bed, reporting


class Deaf(KubeApi):
    """Does not hear the answer to its first patch."""

    deaf = True

    async def ask(self, method: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        answer = await super().ask(method, *args, **kwargs)
        if method == "PATCH" and self.deaf:
            self.deaf = False
            raise UnreachableError("the answer was lost")
        return answer


async def test_the_event_is_written_all_the_same() -> None:
    """By the next attempt the watch has told that the Node is as it should be."""
    patient = replace(QUICK, first_pause_s=0.3, longest_pause_s=0.3)
    async with bed() as there, reporting(there, pace=patient, api=Deaf(there.access)) as agent:
        agent.read()
        await agent.follows()
        agent.xid(79, 1)
        await there.until(lambda: len(there.events) == 1)
        assert there.ids == "1"
        assert there.patches == 1
        assert agent.reporter.status.problem == ""
        agent.xid(79, 0)
        await there.until(lambda: len(there.events) == 2)
        await there.settled()
        assert [each["message"][:5] for each in there.events] == ["GPU 1", "GPU 0"]
