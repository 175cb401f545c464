"""The controller with 100,000 pods on 5,000 nodes: memory, events seen in time, cost of resolving.

The API server is scripted, in a process of its own: what a real one costs is `controller_sync`'s.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.bench.report import Figure, at_most, latencies, median, quick, show

PODS, NODES, POD_BYTES = 100_000, 5_000, 10_000
EVENTS = 10_000
LIMIT_S = 600.0


def main() -> None:
    """Measure and print."""
    pods, events = (PODS // 10, EVENTS // 10) if quick() else (PODS, EVENTS)
    server_command = [sys.executable, "-m", "tests.bench.controller_scale_server"]
    server_command += [str(pods), str(NODES), str(POD_BYTES)]
    with subprocess.Popen(
        server_command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        ours = [sys.executable, "-m", "tests.bench.controller_scale_ours", url, str(events)]
        done = subprocess.run(ours, stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT_S)
        server.communicate(timeout=60)
    found = json.loads(done.stdout)
    show(
        f"Controller with {found['pods']:,} pods of {POD_BYTES // 1000} kB on {NODES:,} nodes",
        figures(found),
        notes(found),
    )


def notes(found: dict[str, Any]) -> list[str]:
    """What has no target."""
    synced, peak = f"{found['synced_s']:.1f} s", f"{found['peak_mib']:.0f} MiB"
    event, collection = f"{found['event_us']:.0f} us", f"{found['collection_ms']:.0f} ms"
    states = f"{found['states_s'] * 1000:.0f} ms"
    return [
        f"the states of all nodes' GPUs, made once for the extender: {states}",
        f"synced {synced} after the start, from a scripted server; peak memory until then {peak}",
        f"an event costs {event} of processor time in all; a full garbage collection {collection}",
    ]


def figures(found: dict[str, Any]) -> list[Figure]:
    """From what the controller's process found."""
    memory = max(found["resident_mib"], found["resident_after_events_mib"])
    shown = [Figure("memory, whole process", memory, "MiB", target=at_most(400))]
    shown += latencies(
        "event to query at 1,000 a second", found["delays_s"], target_p99=at_most(50)
    )
    for way, seconds in found["resolve_s"].items():
        shown.append(
            Figure(
                f"resolve by {way}, median",
                median(seconds) * 1e6,
                "us",
                median(found["scan_s"]) * 1e6,
                "a scan",
                divided=True,
                target=at_most(50),
            )
        )
    shown.append(Figure("a node's container map, median", median(found["map_s"]) * 1e6, "us"))
    return shown


if __name__ == "__main__":
    main()
