"""The main question about every pod of a realistic cluster, in every way it can be put."""

from __future__ import annotations

import aiohttp
import grpc
import pytest

from gpupods import AmbiguousPod, AsyncClient, InvalidPodId, PodNotFound, PodNotScheduled
from gpupods.v1alpha1 import gpupods_pb2 as pb
from nodeagent.containers.identify import IdentifyMode
from simulator.questions import by_http, wrong_with
from simulator.scenario import Size
from tests.simulator.running import missing, reasons, rows, running


@pytest.mark.parametrize("mode", list(IdentifyMode))
async def test_every_pod_gets_the_true_answer(mode: IdentifyMode) -> None:
    async with running(identify=mode) as run:
        for pod in run.placed():
            assert await run.wrong(pod) == [], pod.ref


async def test_a_pod_may_be_asked_for_by_name_and_namespace_or_uid() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        answers = [await run.ask(each) for each in (pod.name, str(pod.ref), pod.uid)]
        for answer in answers:
            assert wrong_with(run.cluster, pod.ref, answer) == []


async def test_only_this_pod_keeps_every_gpu_and_no_other_pod() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        answer = await run.client.get_gpu_pods_message(str(pod.ref), only_this_pod=True)
        assert len(answer.GpuInfos) == 4
        assert [row.pod_uid for _, row in rows(answer)] == [pod.uid] * 4
        assert len(answer.unattributed) == 0


async def test_one_name_in_two_namespaces_is_an_error_that_lists_both() -> None:
    async with running() as run:
        with pytest.raises(AmbiguousPod, match=r"search/embedder-0.*search-staging/embedder-0"):
            await run.ask("embedder-0")
        answers = {
            namespace: await run.ask(f"{namespace}/embedder-0")
            for namespace in ("search", "search-staging")
        }
        assert answers["search"].node_name == "gpu-a100-1"
        assert answers["search-staging"].node_name == "gpu-h100-1"


async def test_a_pod_without_a_node_and_a_pod_that_is_not_there() -> None:
    async with running() as run:
        with pytest.raises(PodNotScheduled, match="not scheduled"):
            await run.ask(str(run.pod("foundation-pretrain").ref))
        with pytest.raises(PodNotFound, match="nobody"):
            await run.ask("serving/nobody")
        with pytest.raises(InvalidPodId):
            await run.ask("")


async def test_a_node_without_a_gpu_answers_and_says_why() -> None:
    async with running() as run:
        answer = await run.ask(str(run.pod("coredns").ref))
        assert answer.node_name == "cpu-1"
        assert len(answer.GpuInfos) == 0
        assert "no NVIDIA driver" in missing(answer, pb.MISSING_KIND_DRIVER)[0]


async def test_mig_rows_name_their_device_and_the_utilisation_is_unknown() -> None:
    async with running() as run:
        pod = run.pod("sentiment-api")
        answer = await run.ask(str(pod.ref))
        gpu, row = next((gpu, row) for gpu, row in rows(answer) if row.pod == pod.name)
        assert row.mig.uuid.startswith("MIG-")
        assert row.mig.gpu_instance_id >= 7
        assert not answer.GpuInfos[gpu].utilization_known
        assert answer.GpuInfos[gpu].mig_mode == pb.MIG_MODE_ENABLED
        assert answer.GpuInfos[gpu].index == 0


async def test_mps_clients_are_their_pods_and_the_server_is_its_own() -> None:
    async with running() as run:
        answer = await run.ask(str(run.pod("asr-streaming").ref))
        mps = [row for _, row in rows(answer) if pb.PROCESS_TYPE_MPS in row.types]
        assert {row.owner.name for row in mps} == {"asr-streaming"}
        assert len(mps) == 2
        server = next(row for _, row in rows(answer) if row.processName == "nvidia-cuda-mps")
        assert server.owner.kind == "DaemonSet"
        assert list(server.types) == [pb.PROCESS_TYPE_COMPUTE]


async def test_a_replica_set_is_told_as_its_deployment() -> None:
    async with running() as run:
        pod = run.pod("chat-")
        answer = await run.ask(str(pod.ref))
        row = next(row for _, row in rows(answer) if row.pod == pod.name)
        assert (row.owner.kind, row.owner.name) == ("Deployment", "chat")
        assert (row.container_name, row.processName) == ("server", "VLLM::EngineCor")


async def test_init_containers_and_static_pods_are_pods_too() -> None:
    async with running() as run:
        answer = await run.ask(str(run.pod("translate").ref))
        assert "build-engine" in {row.container_name for _, row in rows(answer)}
        static = run.pod("gpu-check")
        answer = await run.ask(static.uid)
        row = next(row for _, row in rows(answer) if row.pod == static.name)
        assert row.pod_uid == static.uid
        assert row.pod_uid != static.runtime_uid


async def test_what_is_outside_pods_is_listed_apart_with_the_reason() -> None:
    async with running() as run:
        rtx = await run.ask(str(run.pod("turntable-render").ref))
        assert reasons(rtx) == {
            "Xorg": pb.UNATTRIBUTED_REASON_HOST_PROCESS,
            "ffmpeg": pb.UNATTRIBUTED_REASON_OTHER_RUNTIME,
        }
        h100 = await run.ask(str(run.pod("llama-finetune-1").ref))
        assert reasons(h100) == {
            "python": pb.UNATTRIBUTED_REASON_HOST_PROCESS,
            "nccl-test": pb.UNATTRIBUTED_REASON_UNKNOWN_CONTAINER,
        }


async def test_memory_that_the_driver_does_not_tell_is_not_zero() -> None:
    async with running() as run:
        answer = await run.ask(str(run.pod("turntable-render").ref))
        known = {row.processName: row.memory_known for _, row in rows(answer)}
        assert known == {"blender": True, "oidnDenoise": False, "python3": True}


async def test_http_gives_the_same_answer_and_errors_as_json() -> None:
    async with running() as run:
        for name in ("llama-finetune-0", "sentiment-api", "turntable-render"):
            pod = run.pod(name)
            answer = await by_http(run.cluster, pod.ref)
            assert wrong_with(run.cluster, pod.ref, answer.response) == []
        url = f"http://{run.cluster.http}/gpu-pods?worker_id=embedder-0"
        async with aiohttp.ClientSession() as session, session.get(url) as got:
            body = await got.json()
            assert (got.status, body["code"]) == (400, grpc.StatusCode.FAILED_PRECONDITION.value[0])
            assert "search-staging/embedder-0" in body["message"]


async def test_an_agent_asked_alone_names_pods_by_the_runtimes_labels() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        node = run.node("gpu-a100-1")
        target = f"{node.addresses[0]}:{run.cluster.agents.port}"
        async with grpc.aio.insecure_channel(target) as channel:
            call = channel.unary_unary(
                "/gpupods.v1alpha1.GpuPodsService/GetGpuPods",
                request_serializer=pb.GetGpuPodsRequest.SerializeToString,
                response_deserializer=pb.GetGpuPodsResponse.FromString,
            )
            answer = await call(pb.GetGpuPodsRequest(), timeout=5)
        row = next(row for _, row in rows(answer) if row.pod == pod.name)
        assert (row.namespace, row.container_name) == ("team-nlp", "trainer")


async def test_a_cluster_of_forty_nodes_gives_true_answers() -> None:
    async with running(Size(nodes=40, gpus_per_node=8, pods=400)) as run:
        for pod in list(run.placed())[::7]:
            assert await run.wrong(pod) == [], pod.ref


async def test_two_clusters_at_once_do_not_disturb_each_other() -> None:
    async with running(Size(2, 2, 6)) as one, running(Size(2, 2, 6, seed=1)) as other:
        assert one.cluster.agents.port != other.cluster.agents.port
        for run in (one, other):
            for pod in run.placed():
                assert await run.wrong(pod) == []


async def test_after_its_end_nothing_listens_and_no_file_is_left() -> None:
    async with running(Size(1, 1, 2)) as run:
        cluster = run.cluster
        assert cluster.kubeconfig.exists()
    assert not cluster.kubeconfig.parent.exists()
    async with aiohttp.ClientSession() as session:
        for url in (cluster.apiserver.url, f"http://{cluster.http}/healthz"):
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.get(url)
    async with AsyncClient(str(cluster.grpc)) as client:
        with pytest.raises(Exception, match=str(cluster.grpc.port)):
            await client.get_gpu_pods("x", timeout_s=1)
