"""An operator's words on a simulated cluster, said in this process."""

from __future__ import annotations

from gpupods.cli.gpu.saying import Saying
from gpupods.node_annotations import OVERRIDES, Override, parse_overrides
from simulator.model import SimNode
from tests.simulator.running import Running


def saying(
    run: Running, node: SimNode, index: int, *, restores: bool = False, wait_s: float | None = None
) -> Saying:
    """A word on one GPU, by the administrator of the simulated cluster."""
    return Saying(
        node=node.name,
        index=index,
        restores=restores,
        reason=f"test of GPU {index}",
        who=f"operator-{index}",
        ends=None,
        wait_s=wait_s,
        replace=False,
        kubeconfig=str(run.cluster.kubeconfig),
        context=None,
    )


def words_on(node: SimNode) -> dict[int, Override]:
    """What the Node carries."""
    words, problem = parse_overrides(node.annotations.get(OVERRIDES))
    assert problem == ""
    return words
