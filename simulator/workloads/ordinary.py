"""Workloads as there are many of them in any cluster: training, inference, notebooks, web."""

from __future__ import annotations

from collections.abc import Iterator

from simulator import names
from simulator.kinds import ContainerKind, ContainerState, Qos
from simulator.plans import ProcessPlan
from simulator.workloads.planner import Placed, Planner, container

PYTORCH = "nvcr.io/nvidia/pytorch:25.09-py3"
VLLM = "docker.io/vllm/vllm-openai:v0.11.0"


def training(planner: Planner, namespace: str, name: str, pods: int, gpus: int) -> Iterator[Placed]:
    """A Job of several pods, each with a launcher and one rank on each of its GPUs."""
    owner = planner.owner("Job", name)
    for completion in range(pods):
        node = planner.gpu_node(completion)
        ranks = tuple(
            ProcessPlan("python", (planner.placing.use(node, gpu, 71_000, planner.busy(88, 99)),))
            for gpu in planner.placing.pick(node, gpus)
        )
        containers = (
            container(
                "fetch-dataset",
                "docker.io/rclone/rclone:1.71",
                ContainerKind.INIT,
                ContainerState.TERMINATED,
            ),
            container(
                "metrics",
                "docker.io/prom/pushgateway:v1.11.1",
                ContainerKind.SIDECAR,
                processes=(ProcessPlan("pushgateway"),),
            ),
            container(
                "trainer", PYTORCH, gpus=len(ranks), processes=(ProcessPlan("torchrun"), *ranks)
            ),
        )
        labels = {
            "batch.kubernetes.io/job-name": name,
            "batch.kubernetes.io/job-completion-index": str(completion),
        }
        pod = f"{name}-{completion}-{names.suffix(planner.source)}"
        plan = planner.plan(namespace, pod, containers, owner, labels, qos=Qos.GUARANTEED)
        yield Placed(
            node, plan, "a training Job's pod" + f" on {len(ranks)} GPUs" * (len(ranks) > 1)
        )


def inference(planner: Planner, namespace: str, name: str, replicas: int) -> Iterator[Placed]:
    """A Deployment: a server with its engine process, and a proxy beside it."""
    template, owner = planner.deployment(name)
    for replica in range(replicas):
        node = planner.gpu_node(replica)
        gpu = planner.placing.pick(node, 1)[0]
        engine = planner.placing.use(node, gpu, 38_000, planner.busy(15, 70))
        containers = (
            container(
                "server",
                VLLM,
                gpus=1,
                processes=(ProcessPlan("vllm"), ProcessPlan("VLLM::EngineCor", (engine,))),
            ),
            container(
                "queue-proxy",
                "gcr.io/knative-releases/queue:v1.19",
                processes=(ProcessPlan("queue"),),
            ),
        )
        labels = {"app": name, "pod-template-hash": template}
        pod = f"{owner.name}-{names.suffix(planner.source)}"
        plan = planner.plan(namespace, pod, containers, owner, labels)
        yield Placed(node, plan, "a Deployment's pod: a server and its engine process")


def notebook(planner: Planner, user: str) -> Placed:
    """Holds memory and computes nothing."""
    node = planner.gpu_node(planner.source.randrange(len(planner.gpu_nodes)))
    gpu = planner.placing.pick(node, 1)[0]
    kernel = ProcessPlan("python3", (planner.placing.use(node, gpu, 17_500),))
    containers = (
        container(
            "notebook",
            "quay.io/jupyter/pytorch-notebook:cuda12-2025-10-06",
            gpus=1,
            processes=(ProcessPlan("jupyter-lab"), kernel),
        ),
    )
    owner = planner.owner("StatefulSet", f"notebook-{user}")
    plan = planner.plan("notebooks", f"notebook-{user}-0", containers, owner, {"app": "notebook"})
    return Placed(node, plan, "an idle notebook: holds memory, computes nothing")


def web(planner: Planner, name: str, replicas: int) -> Iterator[Placed]:
    """A Deployment without a GPU."""
    template, owner = planner.deployment(name)
    for _ in range(replicas):
        containers = (
            container(
                "nginx",
                "docker.io/library/nginx:1.29",
                processes=(ProcessPlan("nginx"), ProcessPlan("nginx")),
            ),
        )
        labels = {"app": name, "pod-template-hash": template}
        pod = f"{owner.name}-{names.suffix(planner.source)}"
        plan = planner.plan("web", pod, containers, owner, labels)
        node = planner.other_node()
        without = node is not None and not node.gpus
        yield Placed(node, plan, "a pod on a node without a GPU" if without else "")


def more(planner: Planner) -> Iterator[Placed]:
    """One more workload: web pods where there is no GPU."""
    planner.number += 1
    number = planner.number
    if not planner.gpu_nodes:
        yield from web(planner, f"web-{number}", 2)
        return
    kind = planner.source.randrange(4)
    team = planner.source.choice(("team-nlp", "team-vision", "team-speech", "research"))
    if kind == 0:
        yield from training(planner, team, f"train-{number}", planner.source.randint(1, 2), 2)
    elif kind == 1:
        yield from inference(planner, "serving", f"model-{number}", planner.source.randint(1, 4))
    elif kind == 2:  # noqa: PLR2004 - one of four
        yield notebook(planner, f"user{number}")
    else:
        yield from web(planner, f"web-{number}", 1)
