"""A node gets another InternalIP: the controller leaves the old connection and asks there."""

from __future__ import annotations

import socket

import pytest

from gpupods.client.errors import Unavailable
from tests.e2e.world import ADDRESS, World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SECOND_ADDRESS = "127.0.0.2"


def test_the_agent_is_asked_at_the_new_address(world: World) -> None:
    world.start()
    pod = world.scene.pod("team-a", "moves-with-its-node")
    world.scene.put(0, pod.process())
    world.wait_for_truth(pod.ref)
    old = world.agent
    world.start_agent(listen=f"{SECOND_ADDRESS}:{old.port}")
    old.stop()
    error = world.wait_for_error(pod.ref, Unavailable, timeout_s=5)
    assert f"{ADDRESS}:{old.port}" in error.message
    assert world.node in error.message
    world.apiserver.api.set_addresses(world.node, SECOND_ADDRESS)
    world.wait_for_truth(pod.ref)


def test_no_answer_is_taken_from_the_old_address(world: World) -> None:
    """Somebody else has the address by now: here an agent that calls itself another node."""
    world.start()
    pod = world.scene.pod("team-a", "not-from-there")
    world.scene.put(0, pod.process())
    world.wait_for_truth(pod.ref)
    port = world.agent.port
    world.agent.stop()
    world.start_agent("--node-name", "somebody-else", listen=f"{ADDRESS}:{port}")
    world.start_agent(listen=f"{SECOND_ADDRESS}:{port}")
    world.apiserver.api.set_addresses(world.node, SECOND_ADDRESS)
    world.wait_for_truth(pod.ref)
    with world.watch(pod.ref) as watch:
        for _ in range(5):
            world.wait_for_truth(pod.ref)
    assert {answer.node_name for answer in watch.answers} == {world.node}
    assert watch.errors == []


def test_an_ipv6_node(world: World) -> None:
    if not _has_ipv6_loopback():
        pytest.skip("this machine's loopback has no IPv6 address")
    world.start_agent(listen="[::1]:0")
    world.apiserver.api.set_addresses(world.node, "::1")
    world.start_controller()
    pod = world.scene.pod("team-a", "on-ipv6")
    world.scene.put(0, pod.process())
    world.wait_for_truth(pod.ref)


def _has_ipv6_loopback() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
