"""The socket is that of a runtime the kubelet does not use, Docker's containerd for example."""

from __future__ import annotations

from nodeagent.containers.identify import ProcessIdentifier
from nodeagent.gpus.sample import MissingKind
from simulator.changes import add_node
from simulator.runtime import SimulatedRuntime
from tests.contract.simulated_containers import SimulatedNode
from tests.identifying import AMPLE_S, owned, owners


async def test_cgroups_of_pods_are_believed_and_the_setting_is_named() -> None:
    node = SimulatedNode()
    _, container = node.run()
    without_containers = add_node(node.cluster, "gpu-2", ["127.1.0.2"])
    identifier = ProcessIdentifier(node.table, SimulatedRuntime(without_containers))
    identification = await identifier.identify(container.pids, node.now(), AMPLE_S)
    assert owners(identification) == owned(container)
    (missing,) = identification.missing
    assert missing.kind is MissingKind.RUNTIME
    assert "--runtime-socket" in missing.reason


async def test_nothing_is_missing_where_nothing_runs_in_pods() -> None:
    node = SimulatedNode()
    host = node.host_process()
    without_containers = add_node(node.cluster, "gpu-2", ["127.1.0.2"])
    identifier = ProcessIdentifier(node.table, SimulatedRuntime(without_containers))
    identification = await identifier.identify([host], node.now(), AMPLE_S)
    assert identification.missing == ()
