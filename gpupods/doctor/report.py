"""All findings of one examination, as values. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gpupods.diagnosis import (
    Asked,
    Check,
    Status,
    clock_check,
    failed,
    from_messages,
    ok,
    version_check,
)
from gpupods.v1alpha1 import diagnosis_pb2 as pb
from gpupods.version import VERSION

CACHE = "cache"
"""A check that every controller makes, and no node agent."""


class Part(enum.Enum):
    """What a finding is about; the values are those of the JSON."""

    ACCESS = "access"
    """The way from here to the controller."""
    CONTROLLER = "controller"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of one thing.

    Attributes:
        part: What kind of thing.
        subject: Which one: a node's name; empty where there is but one.
        address: Where it was asked; empty if it was not.
        check: What came out.
    """

    part: Part
    subject: str
    address: str
    check: Check


@dataclass(frozen=True, slots=True)
class Report:
    """What was found, in the order in which it is to be read."""

    findings: tuple[Finding, ...]

    @property
    def status(self) -> Status:
        """The worst of all."""
        return max((each.check.status for each in self.findings), default=Status.OK)

    def count(self, status: Status) -> int:
        """How many checks came out like this."""
        return sum(each.check.status is status for each in self.findings)

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "status": self.status.name.lower(),
            "checks": [
                {
                    "part": each.part.value,
                    "subject": each.subject,
                    "address": each.address,
                    "name": each.check.name,
                    "status": each.check.status.name.lower(),
                    "found": each.check.found,
                    "advice": each.check.advice,
                }
                for each in self.findings
            ],
        }


def access_findings(checks: Iterable[Check]) -> tuple[Finding, ...]:
    """The way from here to the controller."""
    return tuple(Finding(Part.ACCESS, "", "", check) for check in checks)


def controller_findings(
    answer: pb.DiagnoseResponse, asked: Asked, address: str
) -> tuple[Finding, ...]:
    """A controller, and the nodes that it has asked."""
    checks = (*_of_the_service("controller", answer, asked), *from_messages(answer.checks))
    own = (Finding(Part.CONTROLLER, "", address, check) for check in checks)
    nodes = (
        Finding(Part.NODE, node.node_name, node.address, check)
        for node in answer.nodes
        for check in from_messages(node.checks)
    )
    return (*own, *nodes)


def agent_findings(answer: pb.DiagnoseResponse, asked: Asked, address: str) -> tuple[Finding, ...]:
    """One node agent that was asked directly; that it is a controller instead is a finding."""
    if _is_of_a_controller(answer):
        words = f"{address} is a controller, and no node agent"
        advice = f"gpupods doctor --server {address} examines it; node agents are at port 50051"
        return (Finding(Part.NODE, "", address, failed("agent", words, advice)),)
    checks = (*_of_the_service("agent", answer, asked), *from_messages(answer.checks))
    return tuple(Finding(Part.NODE, answer.node_name, address, check) for check in checks)


def _is_of_a_controller(answer: pb.DiagnoseResponse) -> bool:
    """An agent may have no name, but has no cache; a controller never has a node's name."""
    names = {check.name for check in answer.checks}
    return not answer.node_name and (bool(answer.nodes) or CACHE in names)


def _of_the_service(name: str, answer: pb.DiagnoseResponse, asked: Asked) -> Iterator[Check]:
    yield ok(name, "answers")
    yield version_check(answer.version, VERSION, "this command")
    yield clock_check(answer.answered_at.ToNanoseconds() / 1e9, asked, "the one here")
