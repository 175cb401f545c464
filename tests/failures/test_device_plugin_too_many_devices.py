"""More units of memory than the kubelet takes in one message: it is said, and GPUs are offered."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from nodeagent.deviceplugin.terms import DevicePluginMode, HealthReport, Terms
from tests.pluginbed import bed, sharing, until

ONE_MIB = Terms(DevicePluginMode.SHARE, HealthReport.AUTO, 1)
EIGHT_MIB = Terms(DevicePluginMode.SHARE, HealthReport.AUTO, 8)


@pytest.mark.timeout(60)
async def test_it_is_said_which_unit_would_do_and_whole_gpus_can_be_had() -> None:
    with capture_logs() as logged:
        async with bed(ONE_MIB, [81_920] * 8, offered=False) as made:
            await until(lambda: made.kubelet.allocatable.get(GPU_NUMBER) == 8)
            assert GPU_MEMORY not in made.kubelet.capacity
    (said,) = [each["problem"] for each in logged if each["event"] == "device_plugin.problem"]
    assert "655360 devices" in said
    assert "--device-plugin-memory-unit to 8 or more" in said


async def test_the_unit_that_was_named_does() -> None:
    async with bed(EIGHT_MIB, [81_920] * 8) as made:
        assert made.kubelet.capacity[GPU_MEMORY] == 8 * 81_920 // 8


async def test_thousands_of_devices_reach_the_kubelet_whole() -> None:
    async with bed(ONE_MIB, [81_920, 81_920]) as made:
        assert made.kubelet.allocatable[GPU_MEMORY] == 163_840
        pod = sharing("one", 40_960, "1")
        made.bind(pod)
        given = await made.run(pod)
        assert given["main"]["VOLCANO_GPU_ALLOCATED"] == "40960"
