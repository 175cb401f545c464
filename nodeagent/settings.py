"""The node agent's settings: each a flag, an environment variable and a line of --help."""

from __future__ import annotations

from dataclasses import dataclass

from gpupods.addresses import HostPort, parse_host_port
from gpupods.logs import LogFormat, LogLevel
from gpupods.settings import check_positive, setting
from nodeagent.containers.identify import IdentifyMode
from nodeagent.deviceplugin.terms import (
    LONGEST_FOLDER,
    MOST_UNIT_MIB,
    DevicePluginMode,
    HealthReport,
)

ENVIRONMENT_PREFIX = "GPUPODS_NODEAGENT_"


@dataclass(frozen=True, slots=True)
class NodeAgentSettings:
    """How one node agent runs. Times are in seconds.

    Raises:
        ValueError: a time is not positive, or too long to be meant; there is no runtime to
            identify processes by; or there is nothing to report, or nowhere to; or
            the device plugin cannot work.
    """

    grpc_listen: HostPort = setting(
        HostPort("::", 50051), "Where to serve gRPC; port 0 takes any free one."
    )
    node_name: str = setting(
        "", "This node's name in Kubernetes, told in every answer (downward API: spec.nodeName)."
    )
    identify: IdentifyMode = setting(
        IdentifyMode.AUTO,
        "How to find a process's container: from /proc/PID/cgroup, from the runtime's list of "
        "pids, or (auto) from the cgroup and from the runtime where that does not decide.",
    )
    runtime_socket: str = setting(
        "/run/containerd/containerd.sock",
        "containerd's socket; empty on a node that has none.",
        metavar="PATH",
    )
    driver_limit: float = setting(
        2.0, "Seconds a question to the GPU driver may take before its process is killed."
    )
    health: bool = setting(
        True,  # noqa: FBT003 - a flag
        "Watch the GPUs' health, and tell it with every answer.",
    )
    health_interval: float = setting(
        10.0, "Seconds from one reading of all GPUs' health to the next. XIDs are told at once."
    )
    health_hang_limit: float = setting(
        10.0, "Seconds a reading of the GPUs' health may be late before the driver hangs."
    )
    health_policy: str = setting(
        "",
        "A TOML file with lines in the place of those of the built-in policy; read again when it "
        "changes, so that it can be a ConfigMap's.",
        metavar="PATH",
    )
    kernel_log: str = setting(
        "/dev/kmsg",
        "Where XIDs are read from besides the driver's events; empty: nowhere.",
        metavar="PATH",
    )
    kernel_log_any_writer: bool = setting(
        False,  # noqa: FBT003 - a flag
        "Believe lines of the kernel log that processes wrote, too: to rehearse with "
        "`echo ... >/dev/kmsg`.",
    )
    state_dir: str = setting(
        "/var/lib/gpupods",
        "Where indexes and health of the GPUs outlive the agent; empty: nowhere.",
        metavar="PATH",
    )
    report: bool = setting(
        False,  # noqa: FBT003 - a flag
        "Report unfit GPUs on this node's own Node, for schedulers and operators.",
    )
    kubeconfig: str = setting(
        "",
        "The kubeconfig to reach the Kubernetes API with, where that is needed; empty: "
        "$KUBECONFIG, ~/.kube/config, or the pod's own service account.",
        metavar="PATH",
    )
    device_plugin: DevicePluginMode = setting(
        DevicePluginMode.OFF,
        "Be the kubelet's device plugin: pods ask for memory of one GPU or for whole GPUs "
        "(volcano-share), or for whole GPUs alone (volcano-number).",
    )
    device_plugin_memory_unit: int = setting(
        1, "MiB that 1 of volcano.sh/gpu-memory stands for. The same on every node."
    )
    device_plugin_health: HealthReport = setting(
        HealthReport.AUTO,
        "Who is told of an unfit GPU: schedulers alone, by the Node's annotation, or the kubelet, "
        "too. auto is annotation with volcano-share and kubelet with volcano-number.",
    )
    kubelet_plugins_dir: str = setting(
        "/var/lib/kubelet/device-plugins",
        "Where the kubelet and its device plugins have their sockets.",
        metavar="PATH",
    )
    kubelet_pod_resources: str = setting(
        "/var/lib/kubelet/pod-resources/kubelet.sock",
        "Where the kubelet tells which pod has which devices; empty: it is not asked.",
        metavar="PATH",
    )
    http_listen: str = setting("", "Where to serve /metrics; empty: nowhere.", metavar="HOST:PORT")
    request_limit: float = setting(
        5.0, "Seconds an answer may take when the caller sets no deadline."
    )
    stop_grace: float = setting(5.0, "Seconds that running calls get to end at a stop.")
    log_format: LogFormat = setting(
        LogFormat.AUTO, "auto is console on a terminal, else json; always on stderr."
    )
    log_level: LogLevel = setting(LogLevel.INFO, "The least that is logged.")

    def __post_init__(self) -> None:
        """Check what one field alone cannot tell."""
        if self.identify is IdentifyMode.RUNTIME and not self.runtime_socket:
            raise ValueError("--identify=runtime needs a runtime to ask: set --runtime-socket")
        if self.report and not self.node_name:
            raise ValueError("--report needs the name of the Node to report on: set --node-name")
        if self.report and not self.health:
            raise ValueError("--report has nothing to report with --no-health: leave one out")
        if self.http_listen:
            parse_host_port(self.http_listen)
        check_positive("driver-limit", self.driver_limit)
        check_positive("request-limit", self.request_limit)
        check_positive("stop-grace", self.stop_grace)
        check_positive("health-interval", self.health_interval, at_most=20.0)
        check_positive("health-hang-limit", self.health_hang_limit)
        if self.device_plugin is not DevicePluginMode.OFF:
            self._check_device_plugin()

    def _check_device_plugin(self) -> None:
        """Raises ValueError."""
        if not self.node_name:
            raise ValueError("--device-plugin looks for the pods of its node: set --node-name")
        if not self.health:
            raise ValueError("--device-plugin has its GPUs from --health, which is switched off")
        if not 1 <= self.device_plugin_memory_unit <= MOST_UNIT_MIB:
            raise ValueError(
                f"--device-plugin-memory-unit is {self.device_plugin_memory_unit}: write MiB, from "
                f"1 to {MOST_UNIT_MIB}"
            )
        if not 0 < len(self.kubelet_plugins_dir.encode()) <= LONGEST_FOLDER:
            raise ValueError(
                f"--kubelet-plugins-dir is {self.kubelet_plugins_dir!r}: write a path of 1 to "
                f"{LONGEST_FOLDER} bytes, sockets have no longer ones"
            )
