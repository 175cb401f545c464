"""Another tool has written an annotation in a way that nobody can read: it is replaced."""

import pytest
from structlog.testing import capture_logs

from tests.reportbed import bed, reporting

WRONG = ["1, 3", "GPU-1", "", "0,,1", "-1", "1e3", "٣"]


@pytest.mark.parametrize("ids", WRONG)
async def test_it_is_replaced_by_the_truth(ids: str) -> None:
    async with bed(ids=ids, health="not json") as there, reporting(there) as agent:
        agent.read()
        agent.xid(79, 1)
        await there.until_ids("1")
        assert there.annotations["gpupods.io/gpu-health"].startswith('[{"index":1,')


@pytest.mark.parametrize("ids", WRONG)
async def test_it_is_removed_where_all_are_fit(ids: str) -> None:
    async with bed(ids=ids, health="[[[") as there, reporting(there) as agent:
        agent.read()
        await there.until(lambda: there.annotations == {})


async def test_what_was_there_is_in_the_log() -> None:
    with capture_logs() as logs:
        async with bed(ids="1, 3") as there, reporting(there) as agent:
            agent.read()
            await there.until_ids(None)
    (line,) = [each for each in logs if each["event"] == "report.replaces"]
    assert line["found"] == "1, 3"
    assert line["wrong"]
