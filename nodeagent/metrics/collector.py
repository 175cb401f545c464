"""What is known at the moment of a scrape -> metrics. No counters of its own are kept."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gpupods.version import VERSION
from nodeagent.deviceplugin.status import DevicePluginStatus, Offering
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.verdict import Verdict
from nodeagent.metrics import names
from nodeagent.reporting.status import Reporting, ReportStatus


class AgentCollector(Collector):
    """Of one agent.

    Args:
        health: What is known of the GPUs; None: nobody watches.
        reporting: What tells Kubernetes of them; None: nothing.
        device_plugin: What offers them to the kubelet; None: nothing.
    """

    def __init__(
        self,
        health: HealthMonitor | None,
        reporting: Reporting | None,
        device_plugin: Offering | None = None,
    ) -> None:
        self._health = health
        self._reporting = reporting
        self._device_plugin = device_plugin

    def collect(self) -> Iterator[Metric]:
        """Everything that is known now; what is not known is left out."""
        yield _gauge(names.BUILD, [((VERSION,), 1.0)])
        if self._health is not None:
            yield from _of_health(self._health)
        if self._reporting is not None:
            yield from _of_report(self._reporting.status)
        if self._device_plugin is not None:
            yield from _of_devices(self._device_plugin.status)


def _of_health(health: HealthMonitor) -> Iterator[Metric]:
    yield _gauge(names.JUDGED, [((), float(health.judged))])
    yield _gauge(names.HEALTH_PROBLEMS, [((), float(len(health.problems)))])
    verdicts = health.verdicts
    unfit = [verdict for verdict in verdicts if not verdict.fit]
    judged = verdicts if health.judged else unfit
    yield _gauge(names.GPU_FIT, [(_gpu(each), float(each.fit)) for each in judged])
    yield _gauge(
        names.GPU_UNFIT,
        [((*_gpu(each), each.standing.value, _cause(each)), 1.0) for each in unfit],
    )
    yield _gauge(
        names.GPU_UNFIT_SINCE,
        [(_gpu(each), each.since_wall) for each in unfit if each.since_wall is not None],
    )


def _of_report(report: ReportStatus) -> Iterator[Metric]:
    yield _gauge(names.REPORT_PENDING, [((), float(report.pending))])
    yield _counter(names.REPORTS_WRITTEN, report.written)
    yield _counter(names.REPORTS_FAILED, report.failed)
    yield _counter(names.REPORTS_PUT_RIGHT, report.put_right)
    yield _counter(names.EVENTS_WRITTEN, report.events_written)
    yield _counter(names.EVENTS_LOST, report.events_lost)
    if report.last_written is not None:
        yield _gauge(names.LAST_REPORT, [((), report.last_written)])


def _of_devices(plugin: DevicePluginStatus) -> Iterator[Metric]:
    each = plugin.resources
    yield _gauge(names.DEVICES_REGISTERED, [((one.resource,), one.registered) for one in each])
    yield _gauge(names.DEVICES, [((one.resource,), one.devices) for one in each])
    yield _gauge(names.DEVICES_UNHEALTHY, [((one.resource,), one.unhealthy) for one in each])
    yield _counters(names.REGISTRATIONS, [((one.resource,), one.registrations) for one in each])
    yield _counter(names.DEVICE_REQUESTS_ANSWERED, plugin.requests.answered)
    yield _counter(names.DEVICE_REQUESTS_REFUSED, plugin.requests.refused)
    yield _counter(names.DEVICE_EXCHANGES, plugin.requests.exchanged)
    yield _gauge(names.DEVICE_MARKS_LATE, [((), plugin.marks_late)])


def _gpu(verdict: Verdict) -> tuple[str, str]:
    return str(verdict.index), verdict.uuid


def _cause(verdict: Verdict) -> str:
    return verdict.source if verdict.cause is None else str(verdict.cause)


def _gauge(metric: names.Metric, samples: list[tuple[tuple[str, ...], float]]) -> Metric:
    family = GaugeMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def _counter(metric: names.Metric, value: float) -> Metric:
    return _counters(metric, [((), value)])


def _counters(metric: names.Metric, samples: list[tuple[tuple[str, ...], float]]) -> Metric:
    family = CounterMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family
