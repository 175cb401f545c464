"""`gpupods-controller`: reads settings, finds the cluster, serves until a signal."""

from __future__ import annotations

import asyncio

from controller.controller import Controller
from controller.settings import ENVIRONMENT_PREFIX, ControllerSettings
from gpupods.kube.access import KubeAccess
from gpupods.logs import configure_logs
from gpupods.serving import run, until_signal
from gpupods.settings import fail_startup, read_settings
from gpupods.standard_streams import open_closed_streams

PROGRAM = "gpupods-controller"
ABOUT = """Answers for a whole Kubernetes cluster which pod's process is on which GPU.

Keeps pods and nodes in memory, finds a pod's node, asks the node agent there, and adds what
only the cluster knows. Serves gRPC and the same as HTTP/JSON.

\b
  grpcurl -plaintext -d '{"worker_id": "NAMESPACE/POD"}' CONTROLLER:50050 \\
      gpupods.v1alpha1.GpuPodsService/GetGpuPods
  curl 'http://CONTROLLER:8080/gpu-pods?worker_id=NAMESPACE/POD'
"""


async def serve(settings: ControllerSettings, access: KubeAccess) -> None:
    """Run a controller until SIGTERM or SIGINT."""
    controller = Controller(settings, access)
    signalled = asyncio.create_task(until_signal())
    await asyncio.sleep(0)  # a signal is heard from here on: who sees that it serves may end it
    await controller.start()
    try:
        await signalled
    finally:
        await controller.stop()


def main() -> None:
    """The console script."""
    open_closed_streams()
    settings = read_settings(
        ControllerSettings, program=PROGRAM, about=ABOUT, environment_prefix=ENVIRONMENT_PREFIX
    )
    configure_logs(settings.log_format, settings.log_level)
    try:
        access = KubeAccess.load(settings.kubeconfig, settings.context)
        run(lambda: serve(settings, access))
    except (OSError, ValueError) as error:
        fail_startup(PROGRAM, str(error))


if __name__ == "__main__":
    main()
