"""The controller's settings: each a flag, an environment variable and a line of --help."""

from __future__ import annotations

from dataclasses import dataclass

from gpupods.addresses import MAX_PORT, HostPort
from gpupods.logs import LogFormat, LogLevel
from gpupods.settings import check_positive, setting

ENVIRONMENT_PREFIX = "GPUPODS_CONTROLLER_"

SHORTEST_LEASE_S = 2
LONGEST_LEASE_S = 300
LONGEST_EVICT_AFTER_S = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """How the controller runs. Times are in seconds.

    Raises:
        ValueError: a port or a time is out of range.
    """

    grpc_listen: HostPort = setting(
        HostPort("::", 50050), "Where to serve gRPC; port 0 takes any free one."
    )
    http_listen: HostPort = setting(
        HostPort("::", 8080), "Where to serve HTTP; port 0 takes any free one."
    )
    kubeconfig: str = setting(
        "",
        "The kubeconfig to use; empty: $KUBECONFIG, ~/.kube/config, or the pod's own service "
        "account inside a cluster.",
        metavar="PATH",
    )
    context: str = setting("", "The kubeconfig's context; empty: the current one.")
    agent_port: int = setting(50051, "The port of the node agents at their nodes' InternalIP.")
    leader_elect: bool = setting(
        default=False,
        text="Whether this is one of several replicas, of which one leads, chosen by a Lease. "
        "Without it this one always leads.",
    )
    lease_namespace: str = setting(
        "", "Where the Lease is; empty: the pod's own namespace, outside a pod gpupods-system."
    )
    lease_name: str = setting("gpupods-controller", "The Lease's name.")
    lease_duration: int = setting(
        3,
        "Seconds after which a leader that was heard of no more is replaced. It gives up itself "
        "after two thirds of that.",
    )
    scheduler_extender: bool = setting(
        default=False,
        text="Whether to serve kube-scheduler and Volcano as an extender, on the HTTP port. It "
        "binds pods that ask for GPUs, for whoever reaches the port.",
    )
    scheduler_hold: float = setting(
        60.0,
        "Seconds for which GPUs that were given to a pod are kept for it until it is seen to be "
        "bound.",
    )
    evict_after: float = setting(
        0.0,
        "Seconds a GPU must have been unfit before the pods that run on it are evicted; 0: they "
        "never are.",
    )
    evict_excluded: bool = setting(
        False,  # noqa: FBT003 - a flag
        "Whether pods are evicted from GPUs that an operator has excluded, too.",
    )
    evict_per_minute: int = setting(6, "How many pods are evicted in any minute, at most.")
    evict_pause: float = setting(60.0, "Seconds between two evictions of one workload, at least.")
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
        if not 0 < self.agent_port <= MAX_PORT:
            raise ValueError(f"--agent-port is {self.agent_port}: write a port, 1 to {MAX_PORT}")
        if not SHORTEST_LEASE_S <= self.lease_duration <= LONGEST_LEASE_S:
            raise ValueError(
                f"--lease-duration is {self.lease_duration}: write whole seconds, "
                f"{SHORTEST_LEASE_S} to {LONGEST_LEASE_S}"
            )
        check_positive("scheduler-hold", self.scheduler_hold)
        if self.evict_after:
            check_positive("evict-after", self.evict_after, at_most=LONGEST_EVICT_AFTER_S)
        check_positive("evict-pause", self.evict_pause)
        if self.evict_per_minute < 1:
            raise ValueError(
                f"--evict-per-minute is {self.evict_per_minute}: write 1 or more; nobody is "
                "evicted without --evict-after"
            )
        check_positive("request-limit", self.request_limit)
        check_positive("stop-grace", self.stop_grace)
