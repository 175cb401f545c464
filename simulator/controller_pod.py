"""The pod that the controller would have in a real cluster, for those who look for it there."""

from __future__ import annotations

from simulator import names
from simulator.model import Cluster, OwnerReference
from simulator.plans import ContainerPlan, PodPlan, ProcessPlan

NAMESPACE = "gpupods-system"
NAME = "gpupods-controller"


def controller_pod(cluster: Cluster, grpc_port: int, http_port: int) -> PodPlan:
    """As the manifests make it, with the ports that it really listens on."""
    template = names.template_hash(cluster.random)
    replica_set = f"{NAME}-{template}"
    container = ContainerPlan(
        name="controller",
        image="gpupods/controller",
        processes=(ProcessPlan("gpupods-control"),),
        ports={"grpc": grpc_port, "http": http_port},
    )
    return PodPlan(
        namespace=NAMESPACE,
        name=f"{replica_set}-{names.suffix(cluster.random)}",
        containers=(container,),
        owner=OwnerReference("ReplicaSet", replica_set, names.object_uid(cluster.random)),
        labels={
            "app.kubernetes.io/name": "gpupods",
            "app.kubernetes.io/component": "controller",
            "pod-template-hash": template,
        },
    )
