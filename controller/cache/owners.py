"""Who made a pod, as people think of it. Pure."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from controller.cache.records import Owner
from gpupods.kube.objects import OwnerReference


def owner_of(references: Sequence[OwnerReference], template_hash: str) -> Owner | None:
    """The controller among a pod's owner references; a ReplicaSet stands as its Deployment.

    A Deployment names its ReplicaSets "<its own name>-<hash>" and puts the hash on the pods as
    the label pod-template-hash, so ``template_hash`` tells without a question to the API server.
    A ReplicaSet without a Deployment, or of another controller, keeps its own name.
    """
    for reference in references:
        if reference.controller:
            return _resolved(reference, template_hash)
    return None


def _resolved(reference: OwnerReference, template_hash: str) -> Owner:
    deployment, _, suffix = reference.name.rpartition("-")
    if reference.kind == "ReplicaSet" and deployment and suffix and suffix == template_hash:
        return Owner("Deployment", sys.intern(deployment))
    return Owner(sys.intern(reference.kind), sys.intern(reference.name))
