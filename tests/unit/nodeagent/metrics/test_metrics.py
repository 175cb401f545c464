"""What a scrape gets: what is known, and nothing for what is not."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from gpupods.addresses import HostPort
from nodeagent.health.monitor import HealthMonitor
from nodeagent.metrics import names
from nodeagent.metrics.collector import AgentCollector
from nodeagent.metrics.server import MetricsServer
from nodeagent.reporting.status import ReportStatus
from simulator.kubelet_plugins import PodRefusedError
from tests.pluginbed import bed, sharing
from tests.reportbed import WALL, WELL, NodeClock, listed, xid

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


class Reporting:
    """Something that reports, as far as metrics are concerned."""

    def __init__(self) -> None:
        self.status = ReportStatus()

    async def start(self) -> None:
        """Nothing to do."""

    async def stop(self) -> None:
        """Nothing to do."""


@pytest.fixture
def monitor() -> HealthMonitor:
    return HealthMonitor(now=NodeClock())


@pytest.fixture
def reporting() -> Reporting:
    return Reporting()


@pytest.fixture
async def url(monitor: HealthMonitor, reporting: Reporting) -> AsyncIterator[str]:
    server = MetricsServer(AgentCollector(monitor, reporting), HostPort("127.0.0.1", 0))
    with capture_logs() as logs:
        await server.start()
    yield f"http://{logs[-1]['http']}/metrics"
    await server.stop()


async def scrape(url: str) -> Samples:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        assert response.status == 200
        text = await response.text()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_before_the_driver_is_heard_no_gpu_is_fit_or_unfit(url: str) -> None:
    samples = await scrape(url)
    assert samples[names.JUDGED.name, ()] == 0
    assert not [name for name, _ in samples if name == names.GPU_FIT.name]


async def test_each_gpu_is_fit_or_unfit_and_why(url: str, monitor: HealthMonitor) -> None:
    monitor.tell(listed(WELL, WELL))
    monitor.tell(xid(79, 1, 1000.0))
    samples = await scrape(url)
    first, second = (("index", "0"), ("uuid", "GPU-0")), (("index", "1"), ("uuid", "GPU-1"))
    assert samples[names.GPU_FIT.name, first] == 1
    assert samples[names.GPU_FIT.name, second] == 0
    why = (("cause", "XID 79"), *second[:1], ("standing", "unfit"), *second[1:])
    assert samples[names.GPU_UNFIT.name, why] == 1
    assert samples[names.GPU_UNFIT_SINCE.name, second] == WALL
    assert samples[names.JUDGED.name, ()] == 1


async def test_how_reporting_goes(url: str, reporting: Reporting) -> None:
    reporting.status.written, reporting.status.failed = 3, 2
    reporting.status.write_problem = "403"
    samples = await scrape(url)
    assert samples[f"{names.REPORTS_WRITTEN.name}_total", ()] == 3
    assert samples[f"{names.REPORTS_FAILED.name}_total", ()] == 2
    assert samples[names.REPORT_PENDING.name, ()] == 1
    assert (names.LAST_REPORT.name, ()) not in samples
    reporting.status.last_written = WALL
    assert (await scrape(url))[names.LAST_REPORT.name, ()] == WALL


async def test_how_the_device_plugin_fares() -> None:
    async with bed() as made:
        server = MetricsServer(AgentCollector(None, None, made.plugin), HostPort("127.0.0.1", 0))
        with capture_logs() as logs:
            await server.start()
        pod = sharing("one", 5, "1")
        made.bind(pod)
        await made.run(pod)
        with pytest.raises(PodRefusedError):
            await made.run(sharing("nobody", 7, "1"))
        samples = await scrape(f"http://{logs[-1]['http']}/metrics")
        await server.stop()
    memory, number = (("resource", GPU_MEMORY),), (("resource", GPU_NUMBER),)
    assert samples[names.DEVICES_REGISTERED.name, memory] == 1
    assert samples[names.DEVICES.name, memory] == 104
    assert samples[names.DEVICES.name, number] == 2
    assert samples[names.DEVICES_UNHEALTHY.name, memory] == 0
    assert samples[f"{names.REGISTRATIONS.name}_total", number] == 1
    assert samples[f"{names.DEVICE_REQUESTS_ANSWERED.name}_total", ()] == 1
    assert samples[f"{names.DEVICE_REQUESTS_REFUSED.name}_total", ()] == 1
    assert samples[f"{names.DEVICE_EXCHANGES.name}_total", ()] == 0
    assert samples[names.DEVICE_MARKS_LATE.name, ()] == 0


async def test_a_place_that_is_taken_is_named(url: str, monitor: HealthMonitor) -> None:
    taken = HostPort("127.0.0.1", int(url.rpartition(":")[2].partition("/")[0]))
    with pytest.raises(OSError, match=f"cannot serve metrics at {taken}"):
        await MetricsServer(AgentCollector(monitor, None), taken).start()


@pytest.mark.parametrize(
    ("follows", "another_agent", "pending"), [(False, False, 1), (True, False, 0), (False, True, 0)]
)
async def test_a_node_that_is_not_there_carries_nothing(
    url: str, reporting: Reporting, *, follows: bool, another_agent: bool, pending: float
) -> None:
    reporting.status.follows, reporting.status.another_agent = follows, another_agent
    assert (await scrape(url))[names.REPORT_PENDING.name, ()] == pending
