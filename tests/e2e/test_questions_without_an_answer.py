"""Pods that cannot be asked for: each failure has its own status in each way of asking."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpupods.client.errors import (
    AmbiguousPod,
    GpuPodsError,
    InvalidPodId,
    NotReady,
    PodNotFound,
    PodNotScheduled,
    Unavailable,
)
from tests.e2e.askers import METHOD
from tests.e2e.scene import Scene
from tests.e2e.world import ADDRESS, World
from tests.realparts import objects
from tests.realparts.grpcurl import Grpcurl

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

NOBODY_LISTENS = "127.0.0.77"


def assert_refused(
    standing: World,
    grpcurl: Grpcurl,
    worker_id: str,
    kind: type[GpuPodsError],
    *,
    http: int,
    exit_code: int,
    words: str,
) -> None:
    """The same refusal in all four ways; `words` must be in every message."""
    error = standing.wait_for_error(worker_id, kind)
    assert words in error.message
    status = grpcurl.call(standing.controller.grpc, METHOD, {"worker_id": worker_id})
    assert status.code.name == error.code
    assert words in status.message
    by_http = standing.by_curl.get(worker_id=worker_id)
    assert (by_http.status, by_http.content_type) == (http, "application/json")
    assert by_http.body["code"] == status.code.value[0]
    assert words in by_http.body["message"]
    assert by_http.body["details"] == []
    command = standing.by_command.run("--timeout", "5s", "--", worker_id)
    assert command.code == exit_code, command
    assert command.stdout == ""
    assert words in command.stderr


def test_no_such_pod(scene: Scene, standing: World, grpcurl: Grpcurl) -> None:
    pod = scene.pod("team-a", "here", processes=())
    assert_refused(
        standing, grpcurl, "no-such-pod", PodNotFound, http=404, exit_code=1, words="no-such-pod"
    )
    assert_refused(
        *(standing, grpcurl, "team-b/here", PodNotFound),
        http=404,
        exit_code=1,
        words="team-a/here",
    )
    assert pod.name == "here"


def test_no_possible_pod(standing: World, grpcurl: Grpcurl) -> None:
    assert_refused(
        standing, grpcurl, "Not A Pod!", InvalidPodId, http=400, exit_code=1, words="Not A Pod!"
    )


def test_a_name_in_two_namespaces(scene: Scene, standing: World, grpcurl: Grpcurl) -> None:
    for namespace in ("team-a", "team-b"):
        scene.pod(namespace, "twin", processes=())
    assert_refused(
        *(standing, grpcurl, "twin", AmbiguousPod),
        http=400,
        exit_code=1,
        words="team-a/twin, team-b/twin",
    )


def test_a_pod_that_has_no_node_yet(standing: World, grpcurl: Grpcurl) -> None:
    api = standing.apiserver.api
    api.create_namespace("team-a")
    api.create_pod(objects.pod("team-a", "pending"))
    try:
        assert_refused(
            *(standing, grpcurl, "pending", PodNotScheduled),
            http=400,
            exit_code=1,
            words="not scheduled",
        )
    finally:
        api.delete_pod("team-a", "pending")


@pytest.fixture
def pod_on_odd_node(standing: World) -> Iterator[str]:
    """A pod whose node the test may make; the API server does not mind a node that is not there."""
    api = standing.apiserver.api
    api.create_namespace("team-a")
    api.create_pod(objects.pod("team-a", "unlucky", node_name="odd-node"))
    yield "unlucky"
    api.delete_pod("team-a", "unlucky")


def test_a_pod_on_a_node_that_is_not_there(
    pod_on_odd_node: str, standing: World, grpcurl: Grpcurl
) -> None:
    assert_refused(
        *(standing, grpcurl, pod_on_odd_node, PodNotFound),
        http=404,
        exit_code=1,
        words="odd-node",
    )


@pytest.mark.parametrize(
    ("addresses", "kind", "http", "exit_code"),
    [((), NotReady, 400, 1), ((NOBODY_LISTENS,), Unavailable, 503, 4)],
    ids=["node without InternalIP", "nobody listens there"],
)
def test_a_pod_on_a_node_that_cannot_be_asked(  # noqa: PLR0917 - a row of the table, and parts
    addresses: tuple[str, ...],
    kind: type[GpuPodsError],
    http: int,
    exit_code: int,
    pod_on_odd_node: str,
    standing: World,
    grpcurl: Grpcurl,
) -> None:
    standing.apiserver.api.create_node(objects.node("odd-node", *addresses))
    words = NOBODY_LISTENS if addresses else "InternalIP"
    try:
        assert_refused(
            *(standing, grpcurl, pod_on_odd_node, kind),
            http=http,
            exit_code=exit_code,
            words=words,
        )
    finally:
        standing.apiserver.api.delete_node("odd-node")


def test_the_second_address_is_asked_when_the_first_is_not_reached(
    scene: Scene, standing: World
) -> None:
    pod = scene.pod("team-a", "dual-stack")
    scene.put(0, pod.process())
    standing.wait_for_truth(pod.ref)
    standing.apiserver.api.set_addresses(standing.node, NOBODY_LISTENS, ADDRESS)
    try:
        standing.wait_for_truth(pod.ref)
    finally:
        standing.apiserver.api.set_addresses(standing.node, ADDRESS)
