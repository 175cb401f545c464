"""The wires between the machines: a bridge in the control plane's network, a veth to each node.

This host is wired to the bridge as well, so that the tests reach nodes, pods and Services.
All of it is gone with the machines: their network namespaces own the links.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.addresses import PREFIX, NodeAddresses, free_plan
from tests.cluster.machine import Machine
from tests.realparts import gobuild
from tests.realparts.processes import PartFailedError

_BRIDGE = "br0"
_DISABLED, _FORWARDING = 0, 3
_TIMEOUT_S = 60.0


class Network:
    """The network of a cluster, whose bridge is in `control_plane`."""

    def __init__(self, ip: Path, control_plane: Machine) -> None:
        self._ip = ip
        self._control_plane = control_plane
        with _one_at_a_time():
            self.plan = free_plan(self._addresses_of_host())
            self._wire_host()

    def _addresses_of_host(self) -> list[str]:
        listed: list[dict[str, Any]] = json.loads(self._batch("address show", flags=("-j",)))
        return [one["local"] for link in listed for one in link["addr_info"]]

    def _wire_host(self) -> None:
        link, pid = f"gpupods{self.plan.number}", self._control_plane.pid
        self._batch(
            f"link add {_BRIDGE} type bridge",
            f"link set {_BRIDGE} up",
            f"address add {self.plan.control_plane}/{PREFIX} dev {_BRIDGE}",
            on=self._control_plane,
        )
        self._batch(
            f"link add {link} type veth peer name host netns {pid}",
            f"address add {self.plan.host}/{PREFIX} dev {link}",
            f"link set {link} up",
        )
        self._batch(f"link set host master {_BRIDGE} up", on=self._control_plane)

    def join(self, node: Machine, addresses: NodeAddresses) -> None:
        """Wire a node to the bridge, where the link has its name; its own end is eth0."""
        self._batch(
            f"link add {node.name} type veth peer name eth0 netns {node.pid}",
            f"link set {node.name} master {_BRIDGE} up",
            f"route add {addresses.pods} via {addresses.ip}",
            on=self._control_plane,
        )
        self._batch(
            "link set eth0 up",
            f"address add {addresses.ip}/{PREFIX} dev eth0",
            # It leads nowhere; but without a route kube-proxy's rules would not be come to.
            f"route add default via {self.plan.control_plane}",
            on=node,
        )

    def route(self, machine: Machine | None, addresses: NodeAddresses) -> None:
        """Have a machine, or this host, find a node's pods. Only after the node has joined."""
        self._batch(f"route add {addresses.pods} via {addresses.ip}", on=machine)

    def route_services(self, addresses: NodeAddresses) -> None:
        """Have this host reach Services, through the kube-proxy of a node."""
        self._batch(f"route add {self.plan.services} via {addresses.ip}")

    def cut(self, node: Machine) -> None:
        """Nothing comes to the node any more, and nothing from it; its link stays up."""
        self._set_port(node, _DISABLED)

    def mend(self, node: Machine) -> None:
        """Undo `cut`."""
        self._set_port(node, _FORWARDING)

    def _set_port(self, node: Machine, state: int) -> None:
        bridge = self._ip.with_name("bridge")
        words = ["link", "set", "dev", node.name, "state", str(state)]
        inside = ["nsenter", f"--net=/proc/{self._control_plane.pid}/ns/net"]
        subprocess.run([*inside, bridge, *words], timeout=_TIMEOUT_S, check=True)

    def _batch(self, *lines: str, on: Machine | None = None, flags: tuple[str, ...] = ()) -> str:
        """Run lines of `ip` in the network of a machine, or of this host."""
        # The network alone: the pids in the lines are this host's.
        inside = ["nsenter", f"--net=/proc/{on.pid}/ns/net"] if on else []
        done = subprocess.run(
            [*inside, self._ip, *flags, "-batch", "-"],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            where = on.name if on else "this host"
            raise PartFailedError(f"ip on {where} failed at {lines}: {done.stderr.strip()}")
        return done.stdout


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Between two clusters that start at once, none takes the other's addresses."""
    folder = gobuild.cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "addresses.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
