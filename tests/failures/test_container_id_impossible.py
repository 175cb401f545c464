"""A status has a container id that can be none: the node's other pods are found as ever."""

from __future__ import annotations

import json

import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.reading import pod_record
from gpupods.identity import NodeName
from gpupods.kube.json_encoding import JsonEncoding
from gpupods.kube.objects import Pod
from nodeagent.pod_map import parse_pod_map


@pytest.mark.parametrize("impossible", ["docker://", "containerd://a\nb", "containerd://\u202e"])
def test_the_map_of_its_node_is_accepted(impossible: str) -> None:
    cache = ClusterCache()
    for name, container_id in (("odd", impossible), ("well", "containerd://c1")):
        pod = {
            "metadata": {"uid": name, "name": name, "namespace": "team"},
            "spec": {"nodeName": "gpu-1"},
            "status": {"containerStatuses": [{"name": "main", "containerID": container_id}]},
        }
        cache.put_pod(pod_record(JsonEncoding(Pod).item(json.dumps(pod).encode())))  # type: ignore[arg-type]
    assert parse_pod_map(cache.container_map(NodeName("gpu-1"))) == {"c1": "well"}
