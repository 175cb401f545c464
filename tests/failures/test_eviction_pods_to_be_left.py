"""Static pods, DaemonSets' pods and those that say so stay on an unfit GPU, and it is said why."""

from __future__ import annotations

import pytest

from gpupods.identity import PodRef
from tests.failures.evicting import SERVING, evicting


@pytest.mark.parametrize(
    ("gpu", "starts_with", "why"),
    [
        (2, "gpu-check", "it is a static pod"),
        (3, "mps-control-daemon", "its DaemonSet would start it again on the same node"),
    ],
)
async def test_a_pod_that_would_be_there_again(gpu: int, starts_with: str, why: str) -> None:
    async with evicting() as at:
        pod = at.pod(starts_with)
        assert pod is not None
        await at.make_unfit(gpu)
        await at.long_after()
        await at.later(60.0)
        assert at.pod(starts_with) is pod
        ((reason, message),) = await at.events(pod.ref)
        assert reason == "LeftOnUnfitGpu"
        assert why in message


async def test_a_pod_whose_owner_said_never() -> None:
    async with evicting() as at:
        pod = at.pod(SERVING)
        assert pod is not None
        await annotate(at.api, pod.ref, "never")
        await at.make_unfit(1)
        await at.long_after()
        assert at.pod(SERVING) is pod
        ((reason, message),) = await at.events(pod.ref)
        assert reason == "LeftOnUnfitGpu"
        assert "gpupods.io/evict is 'never'" in message
        await annotate(at.api, pod.ref, None)
        await at.later(60.0)
        assert at.pod(SERVING) is None


async def annotate(api: object, ref: PodRef, value: str | None) -> None:
    await api.ask(  # type: ignore[attr-defined]
        "PATCH",
        f"/api/v1/namespaces/{ref.namespace}/pods/{ref.name}",
        {"metadata": {"annotations": {"gpupods.io/evict": value}}},
        limit_s=20,
        media_type="application/merge-patch+json",
    )
