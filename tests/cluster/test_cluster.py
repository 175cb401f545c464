"""The cluster is one: nodes, pods, Services and DaemonSets do what they do elsewhere."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
import urllib3

from tests.cluster import runtime, workloads
from tests.cluster.cluster import Cluster
from tests.realparts.processes import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

Json = dict[str, Any]

SERVE = "mkdir -p /tmp/www; hostname > /tmp/www/name; exec busybox httpd -f -p 8000 -h /tmp/www"
_DEADLINE_S = 120.0


def apply(cluster: Cluster, *objects: Json) -> None:
    bundle = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(bundle))


def wait_for_pods(cluster: Cluster, namespace: str) -> list[Json]:
    """The namespace's pods, once all of them are ready."""
    words = ("wait", "pods", "--all", f"--namespace={namespace}", "--for=condition=Ready")
    cluster.kubectl(*words, f"--timeout={_DEADLINE_S:g}s")
    listed: list[Json] = cluster.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return listed


def fetch(url: str) -> str:
    return urllib3.request("GET", url, retries=5, timeout=5.0).data.decode()


@pytest.fixture(scope="module")
def servers(cluster: Cluster) -> list[Json]:
    """A pod on each node that serves its own name, behind the Service `names`."""
    spec = workloads.pod_spec(workloads.container(script=SERVE), nodeSelector={})
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": "basics", "name": "names"},
        "spec": {"selector": {workloads.LABEL: "names"}, "ports": [{"port": 8000}]},
    }
    serving = workloads.daemon_set("basics", "names")
    serving["spec"]["template"]["spec"] = spec
    apply(cluster, workloads.namespace("basics"), serving, service)
    cluster.kubectl("rollout", "status", "daemonset/names", "--namespace=basics", "--timeout=120s")
    return wait_for_pods(cluster, "basics")


def test_three_nodes_are_ready_and_two_of_them_have_gpus(cluster: Cluster) -> None:
    nodes = cluster.api.get("/api/v1/nodes")["items"]
    labels = {one["metadata"]["name"]: one["metadata"]["labels"] for one in nodes}
    assert {name: "nvidia.com/gpu.present" in has for name, has in labels.items()} == {
        "gpu-1": True,
        "gpu-2": True,
        "cpu-1": False,
    }
    for line in cluster.kubectl("get", "nodes", "--no-headers").splitlines():
        assert line.split()[1] == "Ready"
        assert line.split()[-1] == "v1.37.2"


def test_nodes_have_different_runtimes(cluster: Cluster) -> None:
    nodes = cluster.api.get("/api/v1/nodes")["items"]
    versions = {
        one["metadata"]["name"]: one["status"]["nodeInfo"]["containerRuntimeVersion"]
        for one in nodes
    }
    assert versions["gpu-1"].startswith("containerd://1.")
    assert versions["gpu-2"].startswith("containerd://2.")


def test_a_pod_runs_on_each_node_and_this_host_reaches_it(
    cluster: Cluster, servers: list[Json]
) -> None:
    assert {pod["spec"]["nodeName"] for pod in servers} == set(cluster.nodes)
    for pod in servers:
        name = fetch(f"http://{pod['status']['podIP']}:8000/name").strip()
        assert name == pod["metadata"]["name"]


def test_a_service_answers_nodes_pods_and_this_host_with_every_pod(
    cluster: Cluster, servers: list[Json]
) -> None:
    service = cluster.api.get("/api/v1/namespaces/basics/services/names")
    url = f"http://{service['spec']['clusterIP']}:8000/name"
    names = {pod["metadata"]["name"] for pod in servers}
    first = servers[0]["metadata"]["name"]
    askers = {
        "this host": lambda: fetch(url),
        "a node": lambda: cluster.nodes["gpu-1"].machine.run("busybox", "wget", "-qO-", url),
        "a pod": lambda: cluster.kubectl(
            "exec", "--namespace=basics", first, "--", "/bin/wget", "-qO-", url
        ),
    }
    for asker, ask in askers.items():
        heard: set[str] = set()

        def hears_all(ask: Any = ask, heard: set[str] = heard) -> bool:
            heard.add(ask().strip())
            return heard == names

        wait_until(hears_all, what=f"{asker} to hear of {names}", deadline_s=_DEADLINE_S)


def test_a_daemon_set_sees_the_nodes_processes_network_and_runtime(cluster: Cluster) -> None:
    watching = workloads.daemon_set("watching", "watch")
    watching["spec"]["template"]["spec"] = workloads.pod_spec(
        workloads.container(volumeMounts=[{"name": "run", "mountPath": "/run/containerd"}]),
        hostPID=True,
        hostNetwork=True,
        volumes=[{"name": "run", "hostPath": {"path": "/run/containerd", "type": "Directory"}}],
    )
    apply(cluster, workloads.namespace("watching"), watching)
    cluster.kubectl("rollout", "status", "daemonset/watch", "--namespace=watching")
    for pod in wait_for_pods(cluster, "watching"):
        node = cluster.nodes[pod["spec"]["nodeName"]]
        assert pod["status"]["podIP"] == node.ip
        shell = ("exec", "--namespace=watching", pod["metadata"]["name"], "--")
        assert cluster.kubectl(*shell, "hostname").strip() == node.name
        assert cluster.kubectl(*shell, "ls", runtime.SOCKET).strip() == runtime.SOCKET
        name = cluster.kubectl(*shell, "cat", f"/proc/{node.pid('kubelet')}/comm")
        assert name.startswith("kubelet")


def test_a_network_that_is_cut_carries_nothing_until_it_is_mended(cluster: Cluster) -> None:
    node = cluster.nodes["gpu-2"]

    def answers() -> bool:
        ping = ["busybox", "ping", "-c1", "-W1", node.ip]
        return subprocess.run(ping, capture_output=True, check=False).returncode == 0

    assert answers()
    cluster.network.cut(node.machine)
    assert not answers()
    cluster.network.mend(node.machine)
    wait_until(answers, what=f"{node.name} to answer again")
