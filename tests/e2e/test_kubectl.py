"""Real kubectl on the same API server: it shows the objects that the answers are about."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from google.protobuf.json_format import ParseDict

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.e2e.comparing import assert_is
from tests.e2e.programs import console_script
from tests.e2e.scene import Scene
from tests.e2e.world import ADDRESS, World
from tests.realparts.parts import Parts

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def test_kubectl_shows_the_nodes_and_pods(scene: Scene, standing: World) -> None:
    scene.pod("team-a", "shown", containers=("main", "exporter"))
    nodes = standing.apiserver.kubectl("get", "nodes", "-o", "wide")
    (line,) = (line for line in nodes.splitlines() if line.split()[0] == standing.node)
    assert {"Ready", ADDRESS} <= set(line.split())
    pods = standing.apiserver.kubectl("get", "pods", "-A", "-o", "wide")
    (line,) = (line for line in pods.splitlines() if " shown " in line)
    assert {"team-a", "shown", "2/2", "Running", standing.node} <= set(line.split())


def test_kubectl_finds_gpupods_as_its_plugin(
    scene: Scene, standing: World, real_parts: Parts, tmp_path: Path
) -> None:
    pod = scene.pod("team-a", "plugged")
    scene.put(0, pod.process())
    standing.wait_for_truth(pod.ref)
    scripts = console_script("kubectl-gpupods").parent
    done = subprocess.run(
        [real_parts.kubectl, "gpupods", "get", "plugged", "-n", "team-a", "-o", "json"],
        env={
            **os.environ,
            "PATH": os.pathsep.join([str(scripts), os.environ["PATH"]]),
            "HOME": str(tmp_path),
            "KUBECONFIG": str(standing.apiserver.kubeconfig),
            "GPUPODS_SERVER": standing.controller.grpc,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert_is(ParseDict(json.loads(done.stdout), pb.GetGpuPodsResponse()), scene.truth())
