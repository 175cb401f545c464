"""Names and ids of the shapes that Kubernetes, runtimes and drivers give, from a seeded source."""

from __future__ import annotations

import random
import uuid

from gpupods.identity import ContainerId, GpuUuid, PodUid

SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""The alphabet of Kubernetes' generated names."""


def object_uid(source: random.Random) -> str:
    """A version 4 UUID."""
    return str(_uuid(source))


def pod_uid(source: random.Random) -> PodUid:
    """A version 4 UUID."""
    return PodUid(str(_uuid(source)))


def static_pod_uid(source: random.Random) -> PodUid:
    """A static pod's: 32 hex digits, no dashes."""
    return PodUid(f"{source.getrandbits(128):032x}")


def container_id(source: random.Random) -> ContainerId:
    """64 hex digits."""
    return ContainerId(f"{source.getrandbits(256):064x}")


def gpu_uuid(source: random.Random) -> GpuUuid:
    """As nvidia-smi -L shows it."""
    return GpuUuid(f"GPU-{_uuid(source)}")


def mig_uuid(source: random.Random) -> str:
    """As nvidia-smi -L shows it for a MIG device."""
    return f"MIG-{_uuid(source)}"


def suffix(source: random.Random, length: int = 5) -> str:
    """What a controller appends to a pod's name."""
    return "".join(source.choices(SUFFIX_LETTERS, k=length))


def template_hash(source: random.Random) -> str:
    """What a Deployment appends to its ReplicaSet's name, and its pods carry as a label."""
    return suffix(source, source.choice((9, 10)))


def _uuid(source: random.Random) -> uuid.UUID:
    return uuid.UUID(int=source.getrandbits(128), version=4)
