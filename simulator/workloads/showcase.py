"""Workloads that are made to be looked at: each shows a kind of process that others do not."""

from __future__ import annotations

from collections.abc import Iterator

from nodeagent.gpus.sample import ProcessType
from simulator import names
from simulator.kinds import ContainerKind, ContainerState, Qos
from simulator.model import OwnerReference
from simulator.plans import ProcessPlan
from simulator.workloads.ordinary import PYTORCH, notebook, web
from simulator.workloads.planner import Placed, Planner, container

BOTH = (ProcessType.COMPUTE, ProcessType.GRAPHICS)
MPS_CLIENT = (ProcessType.COMPUTE, ProcessType.MPS)


def same_name_twice(planner: Planner) -> Iterator[Placed]:
    """StatefulSets of one name in two namespaces, and so are their pods."""
    for position, namespace in enumerate(("search", "search-staging")):
        node = planner.gpu_node(position)
        gpu = planner.placing.pick(node, 1)[0]
        use = planner.placing.use(node, gpu, 9_200, planner.busy(20, 60))
        containers = (
            container(
                "embedder",
                "ghcr.io/huggingface/text-embeddings-inference:1.8",
                gpus=1,
                processes=(ProcessPlan("text-embeddings-router", (use,)),),
            ),
        )
        owner = planner.owner("StatefulSet", "embedder")
        plan = planner.plan(namespace, "embedder-0", containers, owner, {"app": "embedder"})
        yield Placed(node, plan, "two namespaces have a pod of this name")


def notebooks(planner: Planner) -> Iterator[Placed]:
    """Two people have left theirs open."""
    yield notebook(planner, "ana")
    yield notebook(planner, "ben")


def on_mig(planner: Planner) -> Iterator[Placed]:
    """A Deployment whose pods each have a MIG device of one GPU."""
    template, owner = planner.deployment("sentiment-api")
    node = planner.gpu_node(2)
    for _ in range(3):
        containers = (
            container(
                "server",
                "nvcr.io/nvidia/tritonserver:25.09-py3",
                gpus=1,
                processes=(
                    ProcessPlan("tritonserver", (planner.placing.use(node, 0, 3_900, 40),)),
                ),
            ),
        )
        labels = {"app": "sentiment-api", "pod-template-hash": template}
        pod = f"{owner.name}-{names.suffix(planner.source)}"
        plan = planner.plan("serving", pod, containers, owner, labels)
        yield Placed(node, plan, "on a MIG device: the GPU's utilisation is unknown")


def mps(planner: Planner) -> Iterator[Placed]:
    """The MPS server in a DaemonSet's pod, and its clients in others, on one GPU."""
    node = planner.gpu_node(0)
    gpu = node.gpus[-1].index
    server = ProcessPlan("nvidia-cuda-mps-server", (planner.placing.use(node, gpu, 30, 0),))
    daemon = (
        container(
            "mps-control-daemon",
            "nvcr.io/nvidia/k8s-device-plugin:v0.18.0",
            processes=(ProcessPlan("nvidia-cuda-mps-control"), server),
        ),
    )
    owner = planner.owner("DaemonSet", "mps-control-daemon")
    pod = f"mps-control-daemon-{names.suffix(planner.source)}"
    plan = planner.plan("gpu-operator", pod, daemon, owner, {"app": "mps-control-daemon"})
    yield Placed(node, plan)
    template, deployment = planner.deployment("asr-streaming")
    for _ in range(2):
        use = planner.placing.use(node, gpu, 6_400, 55, MPS_CLIENT)
        containers = (
            container(
                "asr",
                "ghcr.io/example/asr-streaming:2.4.1",
                processes=(ProcessPlan("python3", (use,)),),
            ),
        )
        labels = {"app": "asr-streaming", "pod-template-hash": template}
        pod = f"{deployment.name}-{names.suffix(planner.source)}"
        plan = planner.plan("serving", pod, containers, deployment, labels)
        yield Placed(node, plan, "an MPS client; the MPS server is a process of another pod")


def rendering(planner: Planner) -> Iterator[Placed]:
    """A graphics process, and one whose memory the driver does not tell."""
    node = planner.gpu_node(3)
    gpu = planner.placing.pick(node, 1)[0]
    processes = (
        ProcessPlan("blender", (planner.placing.use(node, gpu, 5_100, 97, BOTH),)),
        ProcessPlan("oidnDenoise", (planner.placing.use(node, gpu, None, 10),)),
    )
    containers = (
        container("blender", "docker.io/linuxserver/blender:4.5.3", gpus=1, processes=processes),
    )
    plan = planner.plan("render", "turntable-render", containers, None, {}, qos=Qos.BEST_EFFORT)
    yield Placed(node, plan, "a pod without an owner; one process's memory is unknown")


def warming_up(planner: Planner) -> Iterator[Placed]:
    """Its init container computes on the GPU while the main one waits."""
    node = planner.gpu_node(1)
    gpu = planner.placing.pick(node, 1)[0]
    warm = ProcessPlan("trtllm-build", (planner.placing.use(node, gpu, 22_000, 91),))
    containers = (
        container(
            "build-engine",
            "nvcr.io/nvidia/tensorrt-llm/release:1.1.0",
            ContainerKind.INIT,
            gpus=1,
            processes=(warm,),
        ),
        container(
            "server",
            "nvcr.io/nvidia/tritonserver:25.09-py3",
            state=ContainerState.WAITING,
            gpus=1,
            waiting="PodInitializing",
        ),
    )
    template, owner = planner.deployment("translate")
    labels = {"app": "translate", "pod-template-hash": template}
    pod = f"{owner.name}-{names.suffix(planner.source)}"
    plan = planner.plan("serving", pod, containers, owner, labels, age_s=140.0)
    yield Placed(node, plan, "its init container is on the GPU")


def pending(planner: Planner) -> Placed:
    """A Job that wants more GPUs than any node has."""
    containers = (container("trainer", PYTORCH, state=ContainerState.WAITING, gpus=64, waiting=""),)
    owner = planner.owner("Job", "foundation-pretrain")
    pod = f"foundation-pretrain-{names.suffix(planner.source)}"
    plan = planner.plan("research", pod, containers, owner, {}, age_s=5_400.0)
    return Placed(None, plan, "not scheduled: an error that says so")


def static(planner: Planner) -> Placed:
    """A static pod, whose uid in cgroups is not the one in the API."""
    node = planner.gpu_node(0)
    gpu = planner.placing.pick(node, 1)[0]
    check = ProcessPlan("gpu-check", (planner.placing.use(node, gpu, 512),))
    containers = (container("check", "registry.example/gpu-check:1.9", processes=(check,)),)
    owner = OwnerReference("Node", node.name, node.uid)
    plan = planner.plan("kube-system", f"gpu-check-{node.name}", containers, owner, {}, static=True)
    return Placed(node, plan, "a static pod")


def without_gpu(planner: Planner) -> Iterator[Placed]:
    """Pods of nodes that have no GPU."""
    yield from web(planner, "web-frontend", 2)
    template, owner = planner.deployment("coredns")
    containers = (
        container(
            "coredns",
            "registry.k8s.io/coredns/coredns:v1.12.4",
            processes=(ProcessPlan("coredns"),),
        ),
    )
    labels = {"k8s-app": "kube-dns", "pod-template-hash": template}
    pod = f"{owner.name}-{names.suffix(planner.source)}"
    yield Placed(planner.other_node(), planner.plan("kube-system", pod, containers, owner, labels))
