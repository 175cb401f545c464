"""Which addresses a cluster uses: one block 10.N.0.0/16, divided. Pure.

10.N.0.0/24     the machines: .1 the control plane, .11 and up the nodes, .254 this host
10.N.64.0/20    Services
10.N.129.0/24   the pods of the first node, 10.N.130.0/24 of the second ...
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PREFIX = 24
API_PORT = 6443
_NUMBERS = range(200, 232)


class NoAddressesError(RuntimeError):
    """Every block is in use."""


@dataclass(frozen=True)
class NodeAddresses:
    """A node's own address and the range of its pods."""

    ip: str
    pods: str


@dataclass(frozen=True)
class AddressPlan:
    """The addresses of one cluster; `number` is the N above."""

    number: int

    @property
    def control_plane(self) -> str:
        return f"10.{self.number}.0.1"

    @property
    def host(self) -> str:
        """This host's, as the machines see it."""
        return f"10.{self.number}.0.254"

    @property
    def api_url(self) -> str:
        return f"https://{self.control_plane}:{API_PORT}"

    @property
    def services(self) -> str:
        return f"10.{self.number}.64.0/20"

    @property
    def api_service(self) -> str:
        """The first of the Services, which is `kubernetes`."""
        return f"10.{self.number}.64.1"

    @property
    def pods(self) -> str:
        """All nodes' ranges."""
        return f"10.{self.number}.128.0/17"

    def node(self, index: int) -> NodeAddresses:
        """The addresses of the node `index`, counted from 1."""
        return NodeAddresses(
            f"10.{self.number}.0.{10 + index}", f"10.{self.number}.{128 + index}.0/24"
        )


def free_plan(used: Iterable[str]) -> AddressPlan:
    """A plan whose block holds none of the `used` addresses (those of this host).

    Raises NoAddressesError.
    """
    taken = {".".join(address.split(".")[:2]) for address in used}
    for number in _NUMBERS:
        if f"10.{number}" not in taken:
            return AddressPlan(number)
    raise NoAddressesError(
        f"every block from 10.{_NUMBERS[0]} to 10.{_NUMBERS[-1]} has an address on this host: "
        "`ip address` lists them; take away the clusters that are not needed"
    )
