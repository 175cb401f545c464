"""`gpupods doctor` on real parts, with each fault made for real."""

from __future__ import annotations

import itertools
import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.programs import console_script, run_script
from tests.e2e.world import ADDRESS, World
from tests.fakedriver.faults import Fault
from tests.realparts.kubeapi import node_path
from tests.realparts.processes import Supervisor, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

Check = dict[str, str]
NAMESPACE = "gpupods-system"
_NUMBERS = itertools.count(1)
_LIMIT_S = 60.0


def examined(*where: str) -> tuple[int, list[Check]]:
    """The exit code and the checks that are printed."""
    ended = run_script("gpupods", "doctor", "-o", "json", *where, timeout_s=_LIMIT_S)
    assert ended.code in (0, 1), ended.stderr
    document: dict[str, Any] = json.loads(ended.stdout)
    return ended.code, document["checks"]


def of(checks: list[Check], subject: str, name: str) -> Check:
    (check,) = [each for each in checks if (each["subject"], each["name"]) == (subject, name)]
    assert (check["status"] == "ok") == (check["advice"] == "")
    return check


def troubled(checks: list[Check], subject: str) -> set[str]:
    """The names of the checks of one subject that have failed."""
    return {
        each["name"] for each in checks if each["subject"] == subject and each["status"] == "failed"
    }


def gpu_node(world: World) -> None:
    """Let the cluster know that the node has GPUs: its agent is expected."""
    labels = {"gpupods.io/gpu": "true"}
    world.apiserver.api.patch(node_path(world.node), {"metadata": {"labels": labels}})


def of_the_node(world: World) -> list[Check]:
    """The checks that the controller has from this world's node; others may be there."""
    return examined("--server", world.controller.grpc)[1]


def until_told(world: World, name: str, words: str, status: str = "failed") -> Check:
    """The check as soon as it says so: a fault may take a moment to be seen."""
    found: list[Check] = []

    def told() -> bool:
        check = of(of_the_node(world), world.node, name)
        found[:] = [check]
        return check["status"] == status and words in f"{check['found']} {check['advice']}"

    try:
        wait_until(told, what=f"{name}: {words}", deadline_s=_LIMIT_S)
    except Exception as error:
        raise AssertionError(f"the last was {found}") from error
    return found[0]


def test_all_is_well(world: World) -> None:
    gpu_node(world)
    world.start()
    pod = world.scene.pod("team-a", "well")
    world.scene.put(0, pod.process())
    world.wait_for_truth(pod.ref)
    checks = of_the_node(world)
    mine = {each["name"]: each for each in checks if each["subject"] == world.node}
    assert mine.pop("health watch")["status"] != "failed", "this machine's own log and folders"
    assert {name: each["status"] for name, each in mine.items()} == dict.fromkeys(
        (
            *("agent", "version", "clock", "driver", "GPUs", "host pids", "runtime socket"),
            *("cgroups", "GPU health", "health report"),
        ),
        "ok",
    ), mine
    assert str(world.containerd.socket) in mine["runtime socket"]["found"]
    assert "cgroupfs driver" in mine["cgroups"]["found"]
    assert mine["GPUs"]["found"].startswith("3 GPUs")
    for name in ("controller", "version", "clock", "API server", "cache", "rights", "agents"):
        assert of(checks, "", name)["status"] == "ok"


def test_the_agent_alone_tells_the_same(world: World) -> None:
    world.start_agent()
    code, checks = examined("--agent", world.agent.address)
    assert code == 0
    assert {each["subject"] for each in checks} == {world.node}
    assert of(checks, world.node, "host pids")["status"] == "ok"


def test_by_http_the_same_is_served(world: World) -> None:
    world.start()
    answer = world.by_curl.get("/diagnosis")
    assert answer.status == 200
    assert {each["name"] for each in answer.body["checks"]} >= {"API server", "cache", "rights"}
    assert world.node in {each["nodeName"] for each in answer.body["nodes"]}
    alone = world.by_curl.get("/diagnosis", without_nodes="true")
    assert alone.body["nodes"] == []


def test_there_is_no_socket(world: World) -> None:
    world.start("--runtime-socket", "/no/such/containerd.sock")
    check = until_told(world, "runtime socket", "there is no such socket")
    assert "--runtime-socket" in check["advice"]


def test_nobody_listens_at_the_socket(world: World, tmp_path: Path) -> None:
    abandoned = tmp_path / "containerd.sock"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(abandoned))
    world.start("--runtime-socket", str(abandoned))
    until_told(world, "runtime socket", "is containerd running?")


def test_there_is_no_driver(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.driver, "environment", lambda _: {})
    world.start()
    check = of(of_the_node(world), world.node, "driver")
    assert check["status"] in ("failed", "warning"), "a warning where the bus has no GPU either"
    assert "libnvidia-ml.so.1" in check["found"]


def test_the_driver_hangs(world: World) -> None:
    world.start()
    assert of(of_the_node(world), world.node, "driver")["status"] == "ok"
    world.driver.change(lambda now: now.with_faults(Fault.hangs("nvmlDeviceGetUtilizationRates")))
    until_told(world, "driver", "the driver has not answered")
    world.driver.change(lambda now: now.with_faults())


def test_a_gpu_is_lost(world: World) -> None:
    world.start()
    assert of(of_the_node(world), world.node, "GPUs")["status"] == "ok"
    gpu = world.driver.scenario.gpus[1]
    world.driver.change(lambda now: now.with_gpu(gpu.uuid, partial(replace, lost=True)))
    until_told(world, "GPUs", gpu.uuid)


def test_the_agent_is_killed(world: World) -> None:
    gpu_node(world)
    world.start()
    assert of(of_the_node(world), world.node, "agent")["status"] == "ok"
    world.agent.kill()
    check = until_told(world, "agent", "was not reached")
    assert "no pod of the DaemonSet" in check["found"]
    code, checks = examined("--server", world.controller.grpc)
    assert code == 1
    assert troubled(checks, world.node) == {"agent"}


def test_the_agent_has_a_pid_namespace_of_its_own(world: World) -> None:
    pod = world.scene.pod("team-a", "unseen")
    world.scene.put(0, pod.process())
    with Supervisor() as supervisor:
        agent = supervisor.start(
            "agent-in-a-namespace",
            [
                *("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"),
                *(console_script("gpupods-nodeagent"), "--log-format", "json"),
                *("--grpc-listen", f"{ADDRESS}:0", "--node-name", world.node),
                *("--runtime-socket", str(world.containerd.socket)),
            ],
            ready=lambda: "node agent serves" in _log(supervisor),
            env=world.driver.environment({}),
        )
        lines = [json.loads(line) for line in agent.log.read_text().splitlines()]
        (at,) = [line["grpc"] for line in lines if line["event"] == "node agent serves"]
        code, checks = examined("--agent", at)
    assert code == 1
    check = of(checks, world.node, "host pids")
    assert check["status"] == "failed"
    assert "hostPID: true" in check["advice"]


def _log(supervisor: Supervisor) -> str:
    log = supervisor.folder / "agent-in-a-namespace.log"
    return log.read_text() if log.exists() else ""


# What the API server allows


@pytest.fixture
def account(world: World, tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Makes a service account with these rights; gives a kubeconfig for it."""
    api = world.apiserver.api
    api.create_namespace(NAMESPACE)
    made: list[str] = []

    def make(*rules: dict[str, list[str]]) -> Path:
        name = f"doctor-{world.node}-{next(_NUMBERS)}"
        accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
        api.post(accounts, {"metadata": {"name": name}})
        token = api.post(f"{accounts}/{name}/token", {"spec": {"expirationSeconds": 3600}})
        roles = "/apis/rbac.authorization.k8s.io/v1"
        api.post(f"{roles}/clusterroles", {"metadata": {"name": name}, "rules": list(rules)})
        made.append(name)
        api.post(
            f"{roles}/clusterrolebindings",
            {
                "metadata": {"name": name},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name,
                },
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
            },
        )  # fmt: skip
        known = json.loads(world.apiserver.kubeconfig.read_text())
        known["users"] = [{"name": "admin", "user": {"token": token["status"]["token"]}}]
        kubeconfig = tmp_path / f"{name}.kubeconfig"
        kubeconfig.write_text(json.dumps(known))
        return kubeconfig

    yield make
    for name in made:
        for kind in ("clusterrolebindings", "clusterroles"):
            api.delete(f"/apis/rbac.authorization.k8s.io/v1/{kind}/{name}")
        api.delete(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}")


FOLLOW = ["list", "watch"]


def test_the_controllers_role_lacks_something(world: World, account: Callable[..., Path]) -> None:
    world.start_agent()
    kubeconfig = account({"apiGroups": [""], "resources": ["pods"], "verbs": FOLLOW})
    world.start_controller("--kubeconfig", str(kubeconfig), ready="controller listens")
    code, checks = examined("--server", world.controller.grpc)
    assert code == 1
    assert "may not list nodes, watch nodes" in of(checks, "", "rights")["found"]
    assert "role must allow list and watch" in of(checks, "", "cache")["found"]
    assert of(checks, "", "API server")["status"] == "ok"


def test_the_rights_of_the_manifests_suffice(world: World, account: Callable[..., Path]) -> None:
    world.start_agent()
    kubeconfig = account(
        {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": FOLLOW},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
            "resourceNames": [world.node], "verbs": ["get", "update"],
        },
    )  # fmt: skip
    lease = ("--leader-elect", "--lease-name", world.node)
    world.start_controller("--kubeconfig", str(kubeconfig), *lease)
    checks = examined("--server", world.controller.grpc)[1]
    assert of(checks, "", "rights")["status"] == "ok"
    assert of(checks, "", "leader") == of(checks, "", "leader") | {
        "status": "ok",
        "found": "this replica leads",
    }


def test_a_missing_right_to_the_lease_is_named(world: World, account: Callable[..., Path]) -> None:
    world.start_agent()
    kubeconfig = account({"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": FOLLOW})
    lease = ("--leader-elect", "--lease-name", world.node)
    world.start_controller("--kubeconfig", str(kubeconfig), *lease, ready="standby")
    code, checks = examined("--server", world.controller.grpc)
    assert code == 1
    found = of(checks, "", "rights")["found"]
    for right in ("create leases", f"get leases {world.node}", f"update leases {world.node}"):
        assert f"{right} in namespace {NAMESPACE}" in found
    assert of(checks, "", "leader")["status"] == "failed"


def test_the_callers_rights(world: World, account: Callable[..., Path]) -> None:
    kubeconfig = account({"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]})
    code, checks = examined("--kubeconfig", str(kubeconfig))
    assert code == 1
    assert of(checks, "", "API access")["status"] == "ok"
    found = of(checks, "", "your rights")["found"]
    assert "get pods/portforward, create pods/portforward" in found


def test_there_is_no_controller_in_the_cluster(world: World) -> None:
    code, checks = examined("--kubeconfig", str(world.apiserver.kubeconfig))
    assert code == 1
    assert of(checks, "", "your rights")["status"] == "ok"
    assert "the cluster has no controller" in of(checks, "", "port-forward")["found"]


def test_the_api_server_is_away(world: World) -> None:
    gpu_node(world)
    world.start()
    assert of(of_the_node(world), world.node, "agent")["status"] == "ok"
    world.apiserver.stop()
    try:
        code, checks = examined("--server", world.controller.grpc)
        assert code == 1
        assert of(checks, "", "API server")["status"] == "failed"
        assert of(checks, world.node, "agent")["status"] == "ok", "nodes are known and asked"
        code, checks = examined("--kubeconfig", str(world.apiserver.kubeconfig))
        assert code == 1
        assert "was not reached" in of(checks, "", "API access")["found"]
    finally:
        world.apiserver.start()
