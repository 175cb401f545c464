"""A pod that was refused is pending for a moment yet: no other is refused in its place."""

from __future__ import annotations

import pytest

from gpupods.accounting.names import GPU_MEMORY
from simulator.kubelet_plugins import PodRefusedError
from tests.pluginbed import Wanted, bed, owning, sharing


async def test_one_whose_gpu_is_not_there() -> None:
    async with bed() as made:
        beyond, well = sharing("beyond", 5, "7", 1), sharing("well", 5, "1", 2)
        made.bind(beyond, well)
        with pytest.raises(PodRefusedError, match="is to have GPU 7"):
            await made.run(beyond)
        given = await made.run(well)
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(1)


async def test_one_that_had_some_of_its_gpus() -> None:
    async with bed() as made:
        half = Wanted("half", {"a": {"volcano.sh/gpu-number": 1}, "b": {GPU_MEMORY: 5}}, "0,7", 1)
        well = sharing("well", 5, "1", 2)
        made.bind(half, well)
        with pytest.raises(PodRefusedError, match="does not fit"):
            await made.run(half)
        given = await made.run(well)
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(1)


async def test_the_other_has_asked_first() -> None:
    """Then it is the one that is refused, and the one that cannot be served gets its GPU."""
    async with bed() as made:
        beyond, well = sharing("beyond", 5, "7", 1), sharing("well", 5, "1", 2)
        made.bind(beyond, well)
        with pytest.raises(PodRefusedError, match="beyond is to have GPU 7"):
            await made.run(well)
        given = await made.run(beyond)
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(1)
        assert made.annotations(beyond)["volcano.sh/gpu-index"] == "1"


async def test_whole_gpus() -> None:
    async with bed() as made:
        beyond, well = owning("beyond", 1, "7", 1), owning("well", 1, "0", 2)
        made.bind(beyond, well)
        with pytest.raises(PodRefusedError, match="is to have GPU 7"):
            await made.run(beyond)
        given = await made.run(well)
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(0)
