"""The node agent: joins the GPU driver's processes with containers, and serves the answer."""

import os

# Before gRPC is loaded: the driver is asked in child processes, and gRPC's handlers around a fork
# are for children that go on using gRPC. They made one in fifteen of ours die before it began.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
