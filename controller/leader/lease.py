"""A Lease as the API server has it, and a claim to it. Values, and their JSON; no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]

API_VERSION = "coordination.k8s.io/v1"
NOBODY = ""
"""The holder of a lease that was given back."""


@dataclass(frozen=True, slots=True)
class Lease:
    """What the API server has.

    Attributes:
        holder: The identity of whoever leads, `NOBODY` once it was given back.
        duration_s: How long it is the holder's after each change; 0 if it does not say.
        transitions: How often it has gone to another holder.
        version: Changes with every write.
        object: All of it, to be sent back with what others have written there.
    """

    holder: str
    duration_s: float
    transitions: int
    version: str
    object: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a candidate would have written.

    Attributes:
        holder: Itself, or `NOBODY` to give the lease back.
        duration_s: For how long, in whole seconds.
        transitions: Counted on if it takes the lease from somebody else.
        anew: Whether its time as the holder begins now.
        over: The lease as it was seen, None to create it.
    """

    holder: str
    duration_s: int
    transitions: int
    anew: bool
    over: Lease | None


def lease_from(thing: Mapping[str, Any]) -> Lease:
    """Read a Lease object.

    Raises:
        ValueError: it is none.
    """
    try:
        spec = thing.get("spec") or {}
        return Lease(
            holder=str(spec.get("holderIdentity") or NOBODY),
            duration_s=float(spec.get("leaseDurationSeconds") or 0),
            transitions=int(spec.get("leaseTransitions") or 0),
            version=str(thing["metadata"]["resourceVersion"]),
            object=thing,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"this is not a Lease: {error!r}") from error


def lease_object(claim: Claim, namespace: str, name: str, now: datetime) -> Json:
    """The object to be written: labels and whatever else is there stay as they are.

    ``now`` is for people to read. No candidate relies on another's clock.
    """
    known = claim.over.object if claim.over is not None else {}
    metadata: Json = dict(known.get("metadata") or {"namespace": namespace, "name": name})
    spec: Json = dict(known.get("spec") or {})
    moment = micro_time(now)
    spec |= {
        "holderIdentity": claim.holder,
        "leaseDurationSeconds": claim.duration_s,
        "leaseTransitions": claim.transitions,
        "renewTime": moment,
    }
    if claim.anew:
        spec["acquireTime"] = moment
    return {"apiVersion": API_VERSION, "kind": "Lease", "metadata": metadata, "spec": spec}


def micro_time(moment: datetime) -> str:
    """As Kubernetes writes a MicroTime: UTC, six digits after the point."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
