"""`gpupods-nodeagent`: reads settings, opens the edges, serves until a signal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from gpupods.addresses import parse_host_port
from gpupods.logs import configure_logs
from gpupods.serving import run, until_signal
from gpupods.settings import fail_startup, read_settings
from gpupods.standard_streams import open_closed_streams
from nodeagent.agent import NodeAgent
from nodeagent.containers.containerd import Containerd
from nodeagent.containers.identify import ProcessIdentifier
from nodeagent.containers.runtime import ContainerRuntime, NoRuntime
from nodeagent.deviceplugin.status import Offering
from nodeagent.deviceplugin.terms import DevicePluginMode, Terms
from nodeagent.diagnosis.examine import Surroundings
from nodeagent.diagnosis.pci import PciBus
from nodeagent.gpus.driver import DriverProcess
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.policy_files import PolicyFiles
from nodeagent.health.sources import kernel_log
from nodeagent.health.sources.nvml_watch import NvmlWatch
from nodeagent.health.state import StateFolder
from nodeagent.pods_on_gpus import PodsOnGpus
from nodeagent.processes.proc import ProcTable
from nodeagent.reporting.status import Reporting
from nodeagent.settings import ENVIRONMENT_PREFIX, NodeAgentSettings

if TYPE_CHECKING:  # 16 MB that an agent without the Kubernetes API does without
    from gpupods.kube.access import KubeAccess
    from gpupods.kube.api import KubeApi
    from nodeagent.deviceplugin.plugin import DevicePlugin
    from nodeagent.metrics.server import MetricsServer

PROGRAM = "gpupods-nodeagent"
ABOUT = """Answers which process is on which GPU of this node, and in which pod.

Runs on every GPU node, with the node's own pids in sight (hostPID: true). Needs the NVIDIA
driver's library libnvidia-ml.so.1 and, to name containers, containerd's socket; without either
it serves all the same and its answers say what is missing.

Ask it with grpcurl -plaintext NODE:50051 gpupods.v1alpha1.GpuPodsService/GetGpuPods
"""


async def serve(settings: NodeAgentSettings, access: KubeAccess | None = None) -> None:
    """Run a node agent on the real driver, /proc and runtime until SIGTERM or SIGINT.

    ``access`` is the way to the Kubernetes API, where that is needed.
    """
    runtime: ContainerRuntime = (
        Containerd(settings.runtime_socket) if settings.runtime_socket else NoRuntime()
    )
    gpus = DriverProcess(settings.driver_limit)
    table = ProcTable()
    identifier = ProcessIdentifier(table, runtime, settings.identify)
    surroundings = Surroundings(runtime, table, PciBus())
    health = health_of(settings)
    api = kube_api(access)
    pods_on_gpus = PodsOnGpus(gpus, identifier)
    reporting = reporting_of(settings, api, health, pods_on_gpus)
    plugin = device_plugin_of(settings, api, health, gpus)
    agent = NodeAgent(
        settings,
        gpus,
        identifier,
        surroundings,
        health,
        reporting=reporting,
        pods_on_gpus=pods_on_gpus,
        device_plugin=plugin,
    )
    metrics = metrics_of(settings, health, reporting, plugin)
    signalled = asyncio.create_task(until_signal())
    await asyncio.sleep(0)  # a signal is heard from here on: who sees that it serves may end it
    try:
        if metrics is not None:
            await metrics.start()
        await agent.start()
        if plugin is not None:
            await plugin.start()
        await signalled
    finally:
        if metrics is not None:
            await metrics.stop()
        if plugin is not None:
            await plugin.stop()
        await agent.stop()
        await gpus.close()
        await runtime.close()
        if api is not None:
            await api.close()


def health_of(settings: NodeAgentSettings) -> HealthMonitor | None:
    """What watches the GPUs' health, on the real driver and kernel log."""
    if not settings.health:
        return None
    monitor = HealthMonitor(
        policy=PolicyFiles(Path(settings.health_policy) if settings.health_policy else None),
        folder=StateFolder(Path(settings.state_dir)) if settings.state_dir else None,
    )
    monitor.add_source(
        NvmlWatch(
            settings.health_interval,
            settings.health_hang_limit,
            expected=lambda: len(monitor.inventory.slots),
        )
    )
    if settings.kernel_log:
        monitor.add_source(
            kernel_log.KernelLog(
                settings.kernel_log,
                heard=lambda: monitor.kernel_log_mark,
                note=monitor.note_kernel_log,
                boot_id=lambda: monitor.boot_id,
                any_facility=settings.kernel_log_any_writer,
            ),
            backlog=kernel_log.NAME,
        )
    return monitor


def kube_access(settings: NodeAgentSettings) -> KubeAccess | None:
    """The way to the Kubernetes API; None where nothing needs it.

    Raises:
        ValueError: there is none, in one line.
    """
    if not settings.report and settings.device_plugin is DevicePluginMode.OFF:
        return None
    from gpupods.kube.access import KubeAccess  # noqa: PLC0415

    return KubeAccess.load(settings.kubeconfig)


def kube_api(access: KubeAccess | None) -> KubeApi | None:
    """A client of it."""
    if access is None:
        return None
    from gpupods.kube.api import KubeApi  # noqa: PLC0415

    return KubeApi(access)


def reporting_of(
    settings: NodeAgentSettings,
    api: KubeApi | None,
    health: HealthMonitor | None,
    pods_on_gpus: PodsOnGpus,
) -> Reporting | None:
    """What reports on the Node, where that is wanted."""
    if not settings.report or api is None or health is None:
        return None
    from nodeagent.reporting.reporter import Reporter  # noqa: PLC0415

    return Reporter(api, settings.node_name, health, pods=pods_on_gpus)


def metrics_of(
    settings: NodeAgentSettings,
    health: HealthMonitor | None,
    reporting: Reporting | None,
    device_plugin: Offering | None,
) -> MetricsServer | None:
    """What serves metrics, where that is wanted."""
    if not settings.http_listen:
        return None
    from nodeagent.metrics.collector import AgentCollector  # noqa: PLC0415
    from nodeagent.metrics.server import MetricsServer  # noqa: PLC0415

    collector = AgentCollector(health, reporting, device_plugin)
    return MetricsServer(collector, parse_host_port(settings.http_listen))


def device_plugin_of(
    settings: NodeAgentSettings,
    api: KubeApi | None,
    health: HealthMonitor | None,
    gpus: DriverProcess,
) -> DevicePlugin | None:
    """What serves the kubelet, where that is wanted."""
    if settings.device_plugin is DevicePluginMode.OFF or api is None or health is None:
        return None
    from nodeagent.deviceplugin.plugin import DevicePlugin  # noqa: PLC0415
    from nodeagent.deviceplugin.pod_api import PodApi  # noqa: PLC0415
    from nodeagent.deviceplugin.sockets import KubeletFolder, PodResources  # noqa: PLC0415

    return DevicePlugin(
        monitor=health,
        sample=gpus.sample,
        pods=PodApi(api, settings.node_name),
        folder=KubeletFolder(Path(settings.kubelet_plugins_dir)),
        resources=PodResources(
            Path(settings.kubelet_pod_resources) if settings.kubelet_pod_resources else None
        ),
        terms=Terms(
            settings.device_plugin,
            settings.device_plugin_health,
            settings.device_plugin_memory_unit,
        ),
        state_dir=Path(settings.state_dir) if settings.state_dir else None,
    )


def main() -> None:
    """The console script."""
    open_closed_streams()
    settings = read_settings(
        NodeAgentSettings, program=PROGRAM, about=ABOUT, environment_prefix=ENVIRONMENT_PREFIX
    )
    configure_logs(settings.log_format, settings.log_level)
    try:
        access = kube_access(settings)
        run(lambda: serve(settings, access))
    except (OSError, ValueError) as error:
        fail_startup(PROGRAM, str(error))


if __name__ == "__main__":
    main()
