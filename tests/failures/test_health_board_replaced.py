"""A board is replaced: the new one has the index of its place, and is judged afresh."""

from dataclasses import replace
from pathlib import Path

from nodeagent.health.observations import Word
from simulator.changes import replace_board
from tests.contract.health_nodes import SimulatedHealthNode
from tests.driverprocess import FIRST, SECOND, TWO_GPUS
from tests.fakedriver.scenario import RemappedRows, Scenario
from tests.healthwatch import unfit, until_verdicts, watching

NEW = "GPU-99999999-0000-4000-8000-000000000009"


def with_new_board(scenario: Scenario) -> Scenario:
    new = replace(TWO_GPUS.gpus[0], uuid=NEW)
    return replace(scenario, gpus=(new, scenario.gpus[1]))


async def test_the_new_one_is_fit_under_the_old_index(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as watched:
        failed = RemappedRows(uncorrectable=1, failure=True)
        watched.fake.change(lambda now: now.with_gpu(FIRST, remapped_rows=failed))
        await watched.until(unfit)
    watched.fake.change(with_new_board)
    async with watching(tmp_path, state=True, fake=watched.fake) as after:
        await after.readings()
        assert [(each.index, each.uuid, each.fit) for each in after.verdicts] == [
            (0, NEW, True),
            (1, SECOND, True),
        ]


async def test_an_exclusion_stays_with_the_place(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as watched:
        watched.monitor.exclude(0, Word("anna", "bad riser", 1_800_000_000.0))
    watched.fake.change(with_new_board)
    async with watching(tmp_path, state=True, fake=watched.fake) as after:
        await after.readings()
        assert (after.verdicts[0].uuid, after.verdicts[0].fit) == (NEW, False)


async def test_a_simulated_one_too_while_the_agent_runs(tmp_path: Path) -> None:
    node = SimulatedHealthNode(tmp_path)
    await node.monitor.start()
    await until_verdicts(node.monitor, lambda them: len(them) == 2)
    before = node.monitor.verdicts[0].uuid
    node.fail_row_remap(0)
    await until_verdicts(node.monitor, unfit)
    replace_board(node._cluster, node._node, 0)
    first, _ = await until_verdicts(node.monitor, lambda them: not unfit(them))
    assert (first.index, first.uuid) == (0, node._node.gpus[0].uuid)
    assert first.uuid != before
    await node.monitor.stop()
