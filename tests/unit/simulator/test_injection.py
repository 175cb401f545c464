from __future__ import annotations

from collections.abc import Callable

import pytest

from simulator.injection import Injection, InjectionError, inject
from simulator.kinds import DriverFault
from simulator.model import SimNode
from tests.unit.simulator.small import small

CASES: dict[str, tuple[Injection, Callable[[SimNode], bool]]] = {
    "XID": (
        Injection("gpu-1", (1,), xids=(79,)),
        lambda node: (
            [(each.xid, each.pci_address) for each in node.kernel_log]
            == [(79, node.gpus[1].pci_address.lower().removesuffix(".0"))]
        ),
    ),
    "lost": (
        Injection("gpu-1", (1,), lost=True),
        lambda node: [gpu.lost for gpu in node.gpus] == [False, True],
    ),
    "hang": (Injection("gpu-1", hang=True), lambda node: node.driver_fault is DriverFault.HANGS),
    "remap failure": (
        Injection("gpu-1", (0,), remap_failure=True),
        lambda node: [gpu.remap_failure for gpu in node.gpus] == [True, False],
    ),
    "recovery action": (
        Injection("gpu-1", (1,), recovery_action=2),
        lambda node: [gpu.recovery_action for gpu in node.gpus] == [0, 2],
    ),
    "uncorrectable": (
        Injection("gpu-1", (0,), uncorrectable=3),
        lambda node: [gpu.uncorrectable_errors for gpu in node.gpus] == [3, 0],
    ),
    "reset": (
        Injection("gpu-1", (1,), reset=True),
        lambda node: [gpu.resets for gpu in node.gpus] == [0, 1],
    ),
    "all GPUs": (Injection("gpu-1", lost=True), lambda node: all(gpu.lost for gpu in node.gpus)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_injected_happens_to_that_gpu_alone_and_is_told(
    case: tuple[Injection, Callable[[SimNode], bool]],
) -> None:
    world = small()
    injection, happened = case
    assert not happened(world.node)
    told = inject(world.cluster, injection)
    assert happened(world.node)
    assert "gpu-1" in told[0]


def test_the_pods_that_a_fault_hurts_are_told() -> None:
    world = small()
    told = inject(world.cluster, Injection("gpu-1", (0,), xids=(79, 48)))
    uuid = world.node.gpus[0].uuid
    name = f"gpu-1 GPU 0 (NVIDIA A100-SXM4-80GB, {uuid}, {world.node.gpus[0].pci_address})"
    assert told == [f"{name}: XID 79 reported; XID 48 reported", "  pods on it: vision/resnet-0"]


def test_a_restart_makes_well_what_it_can() -> None:
    world = small()
    inject(world.cluster, Injection("gpu-1", (0, 1), xids=(79,), lost=True, hang=True))
    inject(world.cluster, Injection("gpu-1", (1,), remap_failure=True))
    boot = world.node.boot_id
    told = inject(world.cluster, Injection("gpu-1", recover=True))
    assert world.node.boot_id != boot
    assert (world.node.driver_fault, world.node.kernel_log) == (DriverFault.NONE, [])
    assert [(gpu.lost, gpu.remap_failure) for gpu in world.node.gpus] == [
        (False, False),
        (False, True),
    ]
    assert told[2].endswith("a row-remap failure stays: --replace-board")


def test_another_board_has_another_uuid_at_the_same_place() -> None:
    world = small()
    old = world.node.gpus[1]
    inject(world.cluster, Injection("gpu-1", (1,), replace_board=True))
    new = world.node.gpus[1]
    assert new.uuid != old.uuid
    assert (new.pci_address, new.index) == (old.pci_address, 1)


WRONG = {
    "there is no node 'gpu-2' in the simulated cluster; nodes with GPUs: gpu-1": Injection(
        "gpu-2", (0,), lost=True
    ),
    "there is no GPU 2 on gpu-1: it has GPUs 0 to 1": Injection("gpu-1", (0, 2), lost=True),
    "nothing is to happen: name a fault or a remedy": Injection("gpu-1", (0,)),
    "a remedy stands alone: --recover, --reset or --replace-board": Injection(
        "gpu-1", (0,), lost=True, recover=True
    ),
    "0 is no XID: write a number above 0": Injection("gpu-1", (0,), xids=(0,)),
    "8 is no recovery action: write 0 to 7": Injection("gpu-1", (0,), recovery_action=8),
}


@pytest.mark.parametrize("problem", WRONG)
def test_what_cannot_be_done_is_refused_and_nothing_is_done(problem: str) -> None:
    world = small()
    with pytest.raises(InjectionError) as raised:
        inject(world.cluster, WRONG[problem])
    assert str(raised.value) == problem
    assert not any(gpu.lost for gpu in world.node.gpus)
    assert world.node.kernel_log == []
