"""One node with its fake GPUs, its node agent, and a controller that asks that agent.

The API server and containerd are shared by all worlds; driver, agent, controller and the node
object are a world's own.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

from gpupods import Client
from gpupods.client.errors import GpuPodsError
from tests.e2e.askers import ByClient, ByCommand, ByCurl, ByGrpcurl
from tests.e2e.comparing import as_json, assert_is, is_same
from tests.e2e.scene import Scene
from tests.e2e.watching import Watch
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.scenario import GIB, MIB, Gpu, Scenario
from tests.realparts import objects

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from gpupods.v1alpha1 import gpupods_pb2 as pb
    from tests.e2e.programs import Agent, Controller, Programs
    from tests.realparts.apiserver import Apiserver
    from tests.realparts.containerd import Containerd
    from tests.realparts.grpcurl import Grpcurl
    from tests.realparts.parts import Parts

ADDRESS = "127.0.0.1"
_NUMBERS = itertools.count(1)
_DEADLINE_S = 30.0
_PAUSE_S = 0.01
_LOG_SHOWN = 4000

GPUS = (
    Gpu.number(0, memory_used=40 * GIB, utilization=87),
    Gpu.number(1, memory_used=700 * MIB, utilization=3, mig=None, name="NVIDIA L4"),
    Gpu.number(2),
)
"""One that works, one that cannot do MIG, one that is idle."""


class World:
    """A node. `agent` and `controller` are those started last."""

    agent: Agent
    controller: Controller

    def __init__(
        self,
        real_parts: Parts,
        apiserver: Apiserver,
        containerd: Containerd,
        programs: Programs,
        *,
        gpus: tuple[Gpu, ...] = GPUS,
    ) -> None:
        self.node = f"node-{next(_NUMBERS)}"
        self.apiserver = apiserver
        self.containerd = containerd
        self.driver = FakeDriver(programs.folder("driver"), Scenario(gpus))
        self.scene = Scene(self.node, apiserver, containerd, self.driver)
        self._parts = real_parts
        self._programs = programs
        self._servers: list[Agent | Controller] = []
        apiserver.api.create_node(objects.node(self.node, ADDRESS))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.stop()
        self.scene.close()
        self.apiserver.api.delete_node(self.node)

    def start(self, *agent_flags: str) -> Self:
        """Start an agent, and a controller that asks it."""
        self.start_agent(*agent_flags)
        self.start_controller()
        return self

    def start_agent(self, *flags: str, listen: str = f"{ADDRESS}:0") -> Agent:
        """Start a node agent on this world's driver, with containerd's socket."""
        words = (
            *("--grpc-listen", listen, "--node-name", self.node),
            *("--runtime-socket", str(self.containerd.socket), *flags),
        )
        self.agent = self._programs.agent(*words, env=self.driver.environment({}))
        self._servers.append(self.agent)
        return self.agent

    def start_controller(self, *flags: str, ready: str = "ready") -> Controller:
        """Start a controller that expects agents at the present one's port."""
        self.controller = self._programs.controller(
            *("--kubeconfig", str(self.apiserver.kubeconfig)),
            *("--agent-port", str(self.agent.port)),
            *("--grpc-listen", f"{ADDRESS}:0", "--http-listen", f"{ADDRESS}:0", *flags),
            ready=ready,
        )
        self._servers.append(self.controller)
        return self.controller

    def logs(self) -> list[tuple[str, str]]:
        """Name and end of the log of every server that was started."""
        return [(server.name, server.log()[-_LOG_SHOWN:]) for server in self._servers]

    # Asking

    def by_grpcurl(self, grpcurl: Grpcurl) -> ByGrpcurl:
        return ByGrpcurl(grpcurl, self.controller.grpc)

    @property
    def by_curl(self) -> ByCurl:
        return ByCurl(self._parts.curl, self.controller.http)

    @property
    def by_command(self) -> ByCommand:
        return ByCommand(self.controller.grpc)

    @property
    def by_client(self) -> ByClient:
        return ByClient(self.controller.grpc)

    def watch(self, pod: str) -> Watch:
        return Watch(self.controller.grpc, pod)

    def wait_for_truth(self, pod: str) -> pb.GetGpuPodsResponse:
        """Ask about the pod until the answer is what the scene says is true, whole and exact."""
        answer = self.wait_for_answer(pod, lambda got: is_same(got, self.scene.truth()))
        if answer is None:
            raise AssertionError(f"no answer for {pod} within {_DEADLINE_S:g} s")
        assert_is(answer, self.scene.truth())
        return answer

    def wait_for(
        self, pod: str, condition: Callable[[pb.GetGpuPodsResponse], bool], *, what: str
    ) -> pb.GetGpuPodsResponse:
        """Ask about the pod until the answer meets the condition."""
        answer = self.wait_for_answer(pod, condition)
        assert answer is not None, f"no answer for {pod} within {_DEADLINE_S:g} s: {what}"
        assert condition(answer), f"{what}: the last answer was {as_json(answer)}"
        return answer

    def wait_for_error(
        self, pod: str, kind: type[GpuPodsError], *, timeout_s: float = 2.0
    ) -> GpuPodsError:
        """Ask about the pod until asking fails in this way."""
        end = time.monotonic() + _DEADLINE_S
        last: object = None
        with Client(self.controller.grpc) as client:
            while time.monotonic() < end:
                try:
                    last = client.get_gpu_pods_message(pod, timeout_s=timeout_s)
                except GpuPodsError as error:
                    if isinstance(error, kind):
                        return error
                    last = error
                time.sleep(_PAUSE_S)
        raise AssertionError(f"{kind.__name__} did not come; the last was {last}")

    def wait_for_answer(
        self, pod: str, condition: Callable[[pb.GetGpuPodsResponse], bool]
    ) -> pb.GetGpuPodsResponse | None:
        """The first answer that meets the condition, else the last one; None: only errors."""
        end = time.monotonic() + _DEADLINE_S
        last: pb.GetGpuPodsResponse | None = None
        with Client(self.controller.grpc) as client:
            while time.monotonic() < end:
                try:
                    last = client.get_gpu_pods_message(pod)
                except GpuPodsError:
                    time.sleep(_PAUSE_S)
                    continue
                if condition(last):
                    break
                time.sleep(_PAUSE_S)
        return last
