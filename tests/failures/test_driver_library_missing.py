"""libnvidia-ml.so.1 cannot be loaded: no GPUs, a reason, and noticed when it is installed."""

import shutil
from pathlib import Path

from nodeagent.gpus.sample import MissingKind
from tests.driverprocess import FIRST, SECOND, is_whole, reason, sampling, uuids
from tests.fakedriver.build import LIBRARY, build


async def test_the_answer_is_empty_until_the_library_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    # An empty file stands before whatever the machine may have, and cannot be loaded.
    (folder / LIBRARY).touch()
    async with sampling(tmp_path, environment={"LD_LIBRARY_PATH": str(folder)}) as driver:
        sample = await driver.sample()
        assert sample.taken is None
        assert sample.gpus == ()
        assert sample.missing[0].kind is MissingKind.DRIVER
        assert "NVML_ERROR_LIBRARY_NOT_FOUND" in reason(sample)
        assert "runtimeClassName" in reason(sample)

        (folder / LIBRARY).unlink()
        shutil.copy(build() / LIBRARY, folder / LIBRARY)
        assert uuids(await driver.until(is_whole)) == [FIRST, SECOND]
