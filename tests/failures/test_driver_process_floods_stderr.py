"""What runs in the driver's process writes to stderr without end or line: it is not held up."""

from pathlib import Path

from nodeagent.gpus.sample import MissingKind
from tests.driverprocess import reason, sampling

FLOOD = "import sys\nsys.stderr.write('x' * 1_000_000)\nsys.stderr.flush()\n"


async def test_a_line_longer_than_any_buffer_is_read_over(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text(FLOOD + "raise RuntimeError('no bindings on this node')\n")
    async with sampling(tmp_path, environment={"PYTHONPATH": str(tmp_path)}) as driver:
        sample = await driver.sample()
        assert sample.missing[0].kind is MissingKind.DRIVER
        assert "exit code 1" in reason(sample)
        assert "no bindings on this node" in reason(sample)


async def test_no_more_than_a_readable_part_of_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text(FLOOD + "sys.exit(7)\n")
    async with sampling(tmp_path, environment={"PYTHONPATH": str(tmp_path)}) as driver:
        told = reason(await driver.sample())
        assert "exit code 7: xxx" in told
        assert len(told) < 1_000
