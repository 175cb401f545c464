"""docs/doctor.md has every check there is, and the exit codes."""

from __future__ import annotations

from controller.diagnosis import judge as of_the_controller
from gpupods.cli.exit_codes import OF_THE_DOCTOR
from gpupods.doctor import access
from nodeagent.diagnosis import device_plugin as of_devices
from nodeagent.diagnosis import health as of_gpus
from nodeagent.diagnosis import judge as of_a_node
from nodeagent.diagnosis import report as of_reporting
from tests.docs.pages import page, rows

PAGE = page("docs/doctor.md")


def test_every_check_is_told() -> None:
    told = [row[0].strip("`") for row in rows(PAGE.section("What is examined"))]
    assert told == [
        *(access.API_ACCESS, access.RIGHTS, access.FORWARD),
        *("controller", "version", "clock"),
        *(of_the_controller.API_SERVER, of_the_controller.CACHE, of_the_controller.RIGHTS),
        *(of_the_controller.LEADER, of_the_controller.AGENTS),
        *(of_the_controller.AGENT, "version", "clock"),
        *(of_a_node.DRIVER, of_a_node.GPUS, of_a_node.HOST_PIDS),
        *(of_a_node.RUNTIME, of_a_node.CGROUPS),
        *(of_gpus.GPU_HEALTH, of_gpus.HEALTH_WATCH, of_reporting.HEALTH_REPORT),
        of_devices.DEVICE_PLUGIN,
    ]


def test_the_exit_codes() -> None:
    told = list(rows(PAGE.section("For programs")))
    assert told == [(str(int(code)), meaning) for code, meaning in OF_THE_DOCTOR.items()]
