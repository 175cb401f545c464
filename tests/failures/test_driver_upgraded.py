"""The driver was upgraded under the agent: a process that loads the new library is needed."""

from pathlib import Path

from tests.driverprocess import FIRST, SECOND, TWO_GPUS, is_whole, reason, sampling, uuids
from tests.fakedriver.faults import Fault, NvmlReturn

MISMATCH = TWO_GPUS.with_faults(Fault.returns(NvmlReturn.LIB_RM_VERSION_MISMATCH))


async def test_the_mismatch_is_told_and_a_fresh_process_gets_over_it(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await driver.sample()
        old = driver.child_pid
        driver.fake.write(MISMATCH)
        sample = await driver.sample()
        assert sample.taken is None
        assert uuids(sample) == [FIRST, SECOND]
        assert "NVML_ERROR_LIB_RM_VERSION_MISMATCH" in reason(sample)
        assert "upgrade" in reason(sample)
        driver.fake.write(TWO_GPUS)
        await driver.until(is_whole)
        assert driver.child_pid != old
