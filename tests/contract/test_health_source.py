"""What a source of GPUs' health tells: the real one on a fake driver and the simulator's alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from nodeagent.health.verdict import Verdict
from tests.contract.health_nodes import FakeDriverHealthNode, HealthNode, SimulatedHealthNode
from tests.healthwatch import unfit, until_verdicts


@pytest.fixture(params=["driver", "simulated"])
async def node(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[HealthNode]:
    made: HealthNode = (
        FakeDriverHealthNode(tmp_path)
        if request.param == "driver"
        else SimulatedHealthNode(tmp_path)
    )
    await made.monitor.start()
    await until_verdicts(made.monitor, lambda them: len(them) == 2)
    yield made
    await made.monitor.stop()


async def until(
    node: HealthNode, right: Callable[[tuple[Verdict, ...]], object]
) -> tuple[Verdict, ...]:
    return await until_verdicts(node.monitor, right)


async def fit_again(node: HealthNode) -> None:
    await until(node, lambda them: not unfit(them))


def kinds(verdicts: tuple[Verdict, ...]) -> list[str]:
    """Of what is wrong with each."""
    return [str(each.cause or "") for each in verdicts]


async def test_well_gpus_are_listed_and_fit(node: HealthNode) -> None:
    them = node.monitor.verdicts
    assert [(each.index, each.fit) for each in them] == [(0, True), (1, True)]
    assert all(each.uuid.startswith("GPU-") and each.pci_address and each.name for each in them)


async def test_an_xid_is_of_its_gpu(node: HealthNode) -> None:
    node.xid(1, 79)
    them = await until(node, unfit)
    assert kinds(them) == ["", "XID 79"]


async def test_an_applications_fault_is_none(node: HealthNode) -> None:
    node.xid(0, 13)
    node.xid(1, 119)
    assert kinds(await until(node, unfit)) == ["", "XID 119"]


async def test_a_lost_gpu_is_unfit_and_comes_back(node: HealthNode) -> None:
    node.lose(0)
    assert kinds(await until(node, unfit)) == ["lost", ""]
    node.find(0)
    await fit_again(node)


async def test_a_reset_is_seen_by_the_recovery_action(node: HealthNode) -> None:
    node.xid(0, 119)
    node.ask_for_recovery(0, 1)
    await until(node, lambda them: bool(them[0].others))
    node.ask_for_recovery(0, 0)
    await fit_again(node)


async def test_a_failed_remap_asks_for_another_board(node: HealthNode) -> None:
    node.fail_row_remap(1)
    them = await until(node, unfit)
    assert kinds(them) == ["", "row-remap-failure"]
    assert them[1].action == "replace the board"


async def test_uncorrectable_errors_make_it_unfit_for_a_while(node: HealthNode) -> None:
    node.count_errors(0)
    assert kinds(await until(node, unfit)) == ["uncorrectable-ecc", ""]
    await fit_again(node)


async def test_a_driver_that_hangs_concerns_all(node: HealthNode) -> None:
    node.hang()
    them = await until(node, lambda them: unfit(them) == [0, 1])
    assert kinds(them) == ["driver-hang", "driver-hang"]
    node.heal()
    await fit_again(node)


async def test_a_driver_that_is_not_loaded_concerns_all(node: HealthNode) -> None:
    node.unload()
    them = await until(node, lambda them: unfit(them) == [0, 1])
    assert kinds(them) == ["driver-unavailable", "driver-unavailable"]
    node.heal()
    await fit_again(node)
