"""How a server is reached: its address, and the options of the channel to it.

Retries are gRPC's own, by service config: UNAVAILABLE is tried again after a jittered pause
while the caller's deadline lasts, so is CANCELLED, with which gRPC ends what a server that stops
had not begun, and no other status is.
"""

from __future__ import annotations

import json
from ipaddress import ip_address

from gpupods.addresses import join_host_port, parse_host_port

SERVICES = ("gpupods.v1alpha1.GpuPodsService", "gpupods.v1alpha1.GpuHealthService")
UNIX = "unix:"

SERVICE_CONFIG = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{"service": service} for service in SERVICES],
                "retryPolicy": {
                    # gRPC allows no more than five. Their pauses add up to about 1.5 s.
                    "maxAttempts": 5,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "1s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
                },
            }
        ]
    }
)

ChannelOption = tuple[str, str | int]

OPTIONS: tuple[ChannelOption, ...] = (
    ("grpc.service_config", SERVICE_CONFIG),
    # The server bounds what it sends; gRPC's own 4 MiB is less than a big node's answer.
    ("grpc.max_receive_message_length", -1),
    # Else an attempt inside the first second fails without having tried to connect.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # Notice a connection that died without a word between two calls.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
)


def channel_target(target: str) -> str:
    """``target`` as gRPC takes it: HOST:PORT, [IPV6]:PORT, :PORT (this machine), or unix:PATH.

    Raises:
        ValueError: it is none of these; the message says what is wrong with it.
    """
    if target.startswith(UNIX):
        return target
    if "://" in target:
        raise ValueError(f"{target!r} is a URL: write HOST:PORT, without scheme and path")
    place = parse_host_port(target)
    if not place.host.isprintable() or " " in place.host or "/" in place.host:
        raise ValueError(f"{place.host!r} in {target!r} is no host")
    if place.port == 0:
        raise ValueError(f"{target!r}: port 0 can be listened on, but not be called")
    host = "localhost" if target.startswith(":") else place.host
    return join_host_port(host, place.port)


def channel_options(target: str) -> list[ChannelOption]:
    """The options for a channel to a target that `channel_target` gave."""
    if target.startswith(UNIX):
        return [*OPTIONS, ("grpc.default_authority", "localhost")]
    if _is_this_machine(parse_host_port(target).host):
        # What HTTPS_PROXY names is another machine, whose loopback is not ours.
        return [*OPTIONS, ("grpc.enable_http_proxy", 0)]
    return list(OPTIONS)


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
