"""The device plugin in the diagnosis: what the kubelet has, what it has not, and why."""

from __future__ import annotations

import pytest

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from gpupods.diagnosis import Check, Status
from nodeagent.deviceplugin.terms import Terms
from nodeagent.diagnosis.device_plugin import device_plugin_check
from simulator.kubelet_plugins import PodRefusedError
from tests.pluginbed import SHARE, Bed, bed, sharing, until


def told(made: Bed) -> Check:
    check = device_plugin_check(made.plugin.status)
    assert check is not None
    return check


def test_where_there_is_none_nothing_is_said() -> None:
    assert device_plugin_check(None) is None


async def test_all_is_well() -> None:
    async with bed() as made:
        check = told(made)
        assert check.status is Status.OK
        assert check.found == (
            f"the kubelet has 104 of {GPU_MEMORY} and 2 of {GPU_NUMBER}; 0 containers were given "
            "GPUs, and none was refused"
        )


async def test_a_refusal_is_told() -> None:
    async with bed() as made:
        pod = sharing("one", 5, "7")
        made.bind(pod)
        with pytest.raises(PodRefusedError):
            await made.run(pod)
        check = told(made)
        assert check.status is Status.OK
        assert "0 containers were given GPUs; refused: 1, the last since team/one" in check.found


async def test_there_is_no_kubelet() -> None:
    async with bed(kubelet=False) as made:
        await until(lambda: told(made).status is Status.FAILED)
        assert told(made).found.startswith("there is no kubelet.sock in ")
        await made.kubelet.start()
        await made.until_offered()
        assert told(made).status is Status.OK


async def test_too_many_devices() -> None:
    terms = Terms(SHARE.mode, SHARE.health, 1)
    async with bed(terms, (500_000,), offered=False) as made:
        await until(lambda: told(made).status is Status.FAILED)
        assert "set --device-plugin-memory-unit to" in told(made).found


async def test_more_devices_than_a_pod_s_status_has_room_for() -> None:
    terms = Terms(SHARE.mode, SHARE.health, 1)
    async with bed(terms, (81_920,)) as made:
        check = told(made)
        assert check.status is Status.WARNING
        assert "a pod that asks for a whole GPU has 81920 devices" in check.found
        assert "--device-plugin-memory-unit to 256" in check.advice


async def test_there_is_no_gpu() -> None:
    async with bed(memory_mib=()) as made:
        check = told(made)
        assert check.status is Status.WARNING
        assert "no GPU has been judged yet" in check.found


async def test_the_kubelet_does_not_follow() -> None:
    async with bed() as made:
        made.kubelet._plugins.resources[GPU_MEMORY].plugins.clear()
        await made.plugin.endpoints[0].stop()
        check = told(made)
        assert check.status is Status.WARNING
        assert check.found == f"the kubelet does not follow {GPU_MEMORY}"


async def test_it_cannot_be_checked_who_has_what() -> None:
    async with bed() as made:
        made.resources.path = None
        check = told(made)
        assert check.status is Status.WARNING
        assert "is not checked before containers start" in check.found
        assert "pod-resources" in check.advice
