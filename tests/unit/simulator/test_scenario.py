from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodeagent.gpus.sample import MigMode, ProcessType
from simulator.hardware import loopback_address
from simulator.kinds import CgroupShape, ContainerKind, ContainerState
from simulator.scenario import Scenario, Size, build

CLOCK = 1_800_000_000.0


def built(*size: int) -> Scenario:
    return build(Size(*size), clock=lambda: CLOCK)


def test_one_seed_gives_one_cluster_and_another_gives_another() -> None:
    one, same, other = built(4, 8, 24), built(4, 8, 24), build(Size(seed=7), clock=lambda: CLOCK)
    assert list(one.cluster.pods) == list(same.cluster.pods)
    assert [n.gpus for n in one.cluster.nodes.values()] == [
        n.gpus for n in same.cluster.nodes.values()
    ]
    assert one.highlights == same.highlights
    assert set(one.cluster.pods).isdisjoint(other.cluster.pods)


def test_the_usual_size_shows_every_kind_of_process() -> None:
    cluster = built(4, 8, 24).cluster
    nodes, pods = cluster.nodes.values(), cluster.pods.values()
    processes = [process for node in nodes for process in node.processes.values()]
    uses = [use for process in processes for use in process.uses]
    containers = [container for pod in pods for container in pod.containers]
    assert {node.cgroup_shape for node in nodes} >= {
        CgroupShape.SYSTEMD_V2,
        CgroupShape.CGROUPFS_V2,
        CgroupShape.DISAGREEING_V2,
        CgroupShape.CGROUPFS_HYBRID,
    }
    assert {kind for use in uses for kind in use.types} == set(ProcessType)
    assert any(use.mig for use in uses)
    assert any(use.memory_bytes is None for use in uses)
    assert {container.kind for container in containers} >= {
        ContainerKind.APP,
        ContainerKind.INIT,
        ContainerKind.SIDECAR,
    }
    assert {container.state for container in containers} == set(ContainerState)
    assert any(container.restarts for container in containers)
    assert any(pod.node is None for pod in pods)
    assert any(pod.uid != pod.runtime_uid for pod in pods)
    assert {pod.owner.kind if pod.owner else None for pod in pods} == {
        "Job", "ReplicaSet", "StatefulSet", "DaemonSet", "Node", None,
    }  # fmt: skip
    outside = [p for p in processes if p.uses and (p.container is None or p.container.pod is None)]
    assert {p.container.kind if p.container else None for p in outside} == {
        None,
        ContainerKind.FOREIGN,
        ContainerKind.BARE,
    }
    assert len({pod.name for pod in pods}) < len(pods)
    assert any(not node.gpus for node in nodes)
    assert {gpu.mig_mode for node in nodes for gpu in node.gpus} == {
        MigMode.ENABLED,
        MigMode.DISABLED,
        MigMode.UNSUPPORTED,
    }


sizes = st.builds(
    Size,
    nodes=st.integers(0, 6),
    gpus_per_node=st.integers(1, 10),
    pods=st.integers(0, 120),
    cpu_nodes=st.integers(0, 3),
    seed=st.integers(0, 2**32),
)


@settings(max_examples=40, deadline=None)
@given(sizes)
def test_any_size_is_exactly_as_asked_for_and_no_gpu_is_overfull(size: Size) -> None:
    scenario = build(size, clock=lambda: CLOCK)
    cluster = scenario.cluster
    assert len(cluster.pods) == size.pods
    assert len(cluster.nodes) == size.nodes + size.cpu_nodes
    assert {len(node.gpus) for node in cluster.nodes.values()} <= {0, size.gpus_per_node}
    for node in cluster.nodes.values():
        uses = [use for process in node.processes.values() for use in process.uses]
        for gpu in node.gpus:
            held = sum(use.memory_bytes or 0 for use in uses if use.gpu == gpu.uuid)
            assert gpu.reserved_bytes + held <= gpu.memory_total_bytes
        assert all(process.started >= node.booted for process in node.processes.values())
    assert all(highlight.pod in cluster.refs for highlight in scenario.highlights)


def test_ids_and_addresses_are_never_given_twice() -> None:
    cluster = built(60, 8, 600).cluster
    nodes = cluster.nodes.values()
    for given_out in (
        [gpu.uuid for node in nodes for gpu in node.gpus],
        [mig.uuid for node in nodes for gpu in node.gpus for mig in gpu.mig_devices],
        [each for node in nodes for each in node.containers],
        [address for node in nodes for address in node.addresses],
        [pod.ref for pod in cluster.pods.values()],
        [pod.ip for pod in cluster.pods.values() if pod.node],
    ):
        assert len(set(given_out)) == len(given_out)


def test_gpus_of_one_node_have_addresses_of_their_own() -> None:
    node = next(iter(built(1, 64, 0).cluster.nodes.values()))
    assert len({gpu.pci_address for gpu in node.gpus}) == 64


def test_every_address_is_on_loopback() -> None:
    addresses = [loopback_address(number) for number in range(0, 150_000, 7)]
    assert len(set(addresses)) == len(addresses)
    assert all(
        parts[0] == 127 and all(0 < part < 255 for part in (parts[1], parts[3]))
        for parts in ([int(part) for part in address.split(".")] for address in addresses)
    )


def test_fewer_than_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer"):
        Size(nodes=-1)
