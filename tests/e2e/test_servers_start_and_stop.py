"""How the servers start, refuse to start, and end."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.programs import run_script, wait_until_gone
from tests.e2e.world import ADDRESS, World
from tests.fakedriver.faults import Fault

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_both_with_0_and_leaves_no_process(
    number: signal.Signals, world: World
) -> None:
    world.start()
    pod = world.scene.pod("team-a", "until-the-end")
    world.scene.put(0, pod.process())
    world.wait_for_truth(pod.ref)
    children = (*world.agent.children(), *world.controller.children())
    assert children
    for server in (world.controller, world.agent):
        server.send(number)
        assert server.exit_code() == 0, server.log()
        assert "Traceback" not in server.log()
    wait_until_gone(children)


def test_a_question_that_runs_at_sigterm_is_answered_still(world: World) -> None:
    world.start()
    pod = world.scene.pod("team-a", "just-in-time")
    world.scene.put(0, pod.process())
    world.wait_for_truth(pod.ref)
    slow = "nvmlDeviceGetUtilizationRates"
    world.driver.change(lambda now: now.with_faults(Fault.hangs(slow)))
    with ThreadPoolExecutor() as asking:
        answering = asking.submit(world.by_client.ask, pod.ref)
        world.driver.wait_until_hanging(slow)
        for server in (world.controller, world.agent):
            server.send(signal.SIGTERM)
        world.driver.change(lambda now: now.with_faults())
        assert answering.result().GpuPods
    assert [world.controller.exit_code(), world.agent.exit_code()] == [0, 0]


def test_every_line_of_the_log_is_json(world: World) -> None:
    world.start()
    pod = world.scene.pod("team-a", "logged", processes=())
    world.wait_for_truth(pod.ref)
    for server in (world.agent, world.controller):
        server.send(signal.SIGTERM)
        server.exit_code()
        for line in server.log().splitlines():
            assert {"event", "level", "timestamp"} <= set(json.loads(line)), line


def assert_one_line_and_2(script: str, *flags: str, words: str, **env: str) -> None:
    ended = run_script(script, *flags, env=env)
    assert (ended.code, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"{script}: ")
    assert words in line


def test_a_second_agent_on_the_port_says_so(standing: World) -> None:
    at = standing.agent.address
    assert_one_line_and_2("gpupods-nodeagent", "--grpc-listen", at, words=at)


@pytest.mark.parametrize("flag", ["--grpc-listen", "--http-listen"])
def test_a_second_controller_on_a_port_says_so(flag: str, standing: World) -> None:
    controller = standing.controller
    taken = controller.grpc if flag == "--grpc-listen" else controller.http
    free = "--http-listen" if flag == "--grpc-listen" else "--grpc-listen"
    assert_one_line_and_2(
        "gpupods-controller",
        *("--kubeconfig", str(standing.apiserver.kubeconfig)),
        *(flag, taken, free, f"{ADDRESS}:0"),
        words=taken,
    )


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--identify", "guess"], "identify"),
        (["--grpc-listen", "nowhere"], "nowhere"),
        (["--driver-limit", "-1"], "driver-limit"),
        (["--identify", "runtime", "--runtime-socket", ""], "--runtime-socket"),
        (["--no-such-flag"], "--no-such-flag"),
    ],
)
def test_a_wrong_setting_of_the_agent_is_one_line(flags: list[str], words: str) -> None:
    assert_one_line_and_2("gpupods-nodeagent", *flags, words=words)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--agent-port", "0"], "agent-port"),
        (["--http-listen", "[::1:8080"], "[::1"),
        (["--kubeconfig", "/no/such/kubeconfig"], "/no/such/kubeconfig"),
        (["--request-limit", "nan"], "request-limit"),
    ],
)
def test_a_wrong_setting_of_the_controller_is_one_line(flags: list[str], words: str) -> None:
    assert_one_line_and_2("gpupods-controller", *flags, words=words)


def test_an_unknown_variable_with_our_prefix_is_one_line() -> None:
    name = "GPUPODS_NODEAGENT_GRPC_LISTN"
    assert_one_line_and_2("gpupods-nodeagent", words=name, **{name: ":1"})


def test_a_context_that_the_kubeconfig_lacks_is_one_line(standing: World) -> None:
    kubeconfig = str(standing.apiserver.kubeconfig)
    assert_one_line_and_2(
        *("gpupods-controller", "--kubeconfig", kubeconfig, "--context", "prod"), words="prod"
    )


def test_a_kubeconfig_that_is_none_is_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "kubeconfig"
    broken.write_text("clusters: [")
    assert_one_line_and_2("gpupods-controller", "--kubeconfig", str(broken), words=str(broken))


@pytest.mark.parametrize("script", ["gpupods-nodeagent", "gpupods-controller", "gpupods"])
@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_end_with_0(script: str, flag: str) -> None:
    ended = run_script(script, flag)
    assert (ended.code, ended.stderr) == (0, "")
    assert script in ended.stdout
