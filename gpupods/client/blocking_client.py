"""The client for threads: one channel, calls that block until answered."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

import grpc

from gpupods.client.answer import GpuPodsAnswer
from gpupods.client.channel import channel_options, channel_target
from gpupods.client.convert import answer_from, checked_timeout, request_for
from gpupods.client.convert_list import list_from, list_request
from gpupods.client.errors import GpuPodsError, error_from
from gpupods.client.gpu_list import GpuList
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc
from gpupods.v1alpha1 import health_pb2, health_pb2_grpc

DEFAULT_TIMEOUT_S = 5.0


class Client:
    """Asks a controller which pods' processes are on which GPU.

    Threads may share one. It connects when first asked, and again when the connection breaks;
    close it, or use it as a context manager::

        with Client("gpupods-controller.gpupods-system:50050") as client:
            for gpu in client.get_gpu_pods("team-a/train-0").gpus:
                print(gpu.info.index, [row.pod for row in gpu.rows])

    Args:
        target: HOST:PORT, [IPV6]:PORT or unix:PATH of a controller, or of a node agent.
        credentials: TLS, as grpc.ssl_channel_credentials makes it; None: plain text.

    Raises:
        ValueError: ``target`` is no address.
    """

    def __init__(self, target: str, *, credentials: grpc.ChannelCredentials | None = None) -> None:
        self.target = channel_target(target)
        options = channel_options(self.target)
        self._channel = (
            grpc.secure_channel(self.target, credentials, options)
            if credentials is not None
            else grpc.insecure_channel(self.target, options)
        )
        self._stub = pb_grpc.GpuPodsServiceStub(self._channel)
        self._health = health_pb2_grpc.GpuHealthServiceStub(self._channel)

    def get_gpu_pods(
        self,
        pod: str,
        *,
        only_this_pod: bool = False,
        max_age_s: float = 0.0,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> GpuPodsAnswer:
        """Every GPU of the node that ``pod`` runs on, with every pod's processes there.

        Args:
            pod: "namespace/name", "name" (if only one namespace has it), or the pod's uid. At a
                node agent: empty.
            only_this_pod: leave out the rows of other pods; the GPUs are all listed still.
            max_age_s: how old a sample of the GPUs may be; 0: taken after this call.
            timeout_s: how long all of it may take, retries included.

        Raises:
            GpuPodsError: no answer; see `gpupods.client.errors` for its kinds.
            ValueError: a number is out of range, or the client has been closed.
        """
        response = self.get_gpu_pods_message(
            pod, only_this_pod=only_this_pod, max_age_s=max_age_s, timeout_s=timeout_s
        )
        return answer_from(response)

    def get_gpu_pods_message(
        self,
        pod: str,
        *,
        only_this_pod: bool = False,
        max_age_s: float = 0.0,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> pb.GetGpuPodsResponse:
        """As `get_gpu_pods`, but the contract's own message, for those who pass it on."""
        request = request_for(pod, only_this_pod=only_this_pod, max_age_s=max_age_s)
        limit_s = checked_timeout(timeout_s)
        try:
            return self._stub.GetGpuPods(request, timeout=limit_s)
        except grpc.RpcError as error:
            raise self._error(error, timeout_s) from error

    def list_gpus(
        self,
        nodes: Sequence[str] = (),
        *,
        only_unfit: bool = False,
        max_age_s: float = 0.0,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> GpuList:
        """The GPUs of ``nodes``, or of the whole cluster, with their health and the pods on them.

        For a controller; a node agent knows its own GPUs alone. In a large cluster give it more
        time: what was not there in ``timeout_s`` is named as missing.

        Args:
            nodes: names of nodes; none: every node that has GPUs.
            only_unfit: leave out the GPUs that are fit.
            max_age_s: how old a sample of the GPUs may be; 0: taken after this call.
            timeout_s: how long all of it may take, retries included.

        Raises:
            GpuPodsError: no answer; `NodeNotFound` if one of ``nodes`` is not there.
            ValueError: a number is out of range, or the client has been closed.
        """
        response = self.list_gpus_message(
            nodes, only_unfit=only_unfit, max_age_s=max_age_s, timeout_s=timeout_s
        )
        return list_from(response)

    def list_gpus_message(
        self,
        nodes: Sequence[str] = (),
        *,
        only_unfit: bool = False,
        max_age_s: float = 0.0,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> health_pb2.ListGpusResponse:
        """As `list_gpus`, but the contract's own message, for those who pass it on."""
        request = list_request(nodes, only_unfit=only_unfit, max_age_s=max_age_s)
        limit_s = checked_timeout(timeout_s)
        try:
            return self._health.ListGpus(request, timeout=limit_s)
        except grpc.RpcError as error:
            raise self._error(error, timeout_s) from error

    def _error(self, error: grpc.RpcError, timeout_s: float) -> GpuPodsError:
        return error_from(
            error.code(),
            error.details(),
            error.trailing_metadata(),
            target=self.target,
            timeout_s=timeout_s,
        )

    def close(self) -> None:
        """Close the connection; running calls are cut off. Closing twice does nothing."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
