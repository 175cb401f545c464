"""Under MIG a GPU does not tell its utilisation: it stays, with that unknown."""

from pathlib import Path

from nodeagent.gpus.sample import MigMode
from tests.driverprocess import FIRST, TWO_GPUS, is_whole, sampling
from tests.fakedriver.scenario import MigInstance


async def test_the_gpu_stays_with_its_utilisation_unknown(tmp_path: Path) -> None:
    split = TWO_GPUS.with_gpu(FIRST, mig=True, mig_instances=(MigInstance("MIG-a", 0, 7),))
    async with sampling(tmp_path, split) as driver:
        sample = await driver.sample()
        assert is_whole(sample)
        assert sample.gpus[0].mig_mode is MigMode.ENABLED
        assert sample.gpus[0].utilization_percent is None
        assert sample.gpus[1].utilization_percent == 0
