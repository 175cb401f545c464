"""Settings with which the device plugin cannot work are refused in words."""

from __future__ import annotations

from typing import Any

import pytest

from nodeagent.deviceplugin.terms import DevicePluginMode
from nodeagent.settings import NodeAgentSettings


def settings(**changed: Any) -> NodeAgentSettings:
    plain: dict[str, Any] = {"node_name": "gpu-1", "device_plugin": DevicePluginMode.SHARE}
    return NodeAgentSettings(**(plain | changed))


def test_those_that_do() -> None:
    assert settings().device_plugin is DevicePluginMode.SHARE
    assert settings(device_plugin_memory_unit=1024).device_plugin_memory_unit == 1024


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"node_name": ""}, "set --node-name"),
        ({"health": False}, "from --health, which is switched off"),
        ({"device_plugin_memory_unit": 0}, "--device-plugin-memory-unit is 0: write MiB"),
        ({"device_plugin_memory_unit": 65537}, "from 1 to 65536"),
        ({"kubelet_plugins_dir": ""}, "--kubelet-plugins-dir is '': write a path"),
        ({"kubelet_plugins_dir": "/x" * 40}, "sockets have no longer ones"),
    ],
)
def test_those_that_do_not(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        settings(**changed)
    # Where there is no device plugin, they do not matter.
    settings(**changed, device_plugin=DevicePluginMode.OFF)
