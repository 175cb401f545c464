"""Changes of the simulated truth, each a function that makes it and tells the observers.

A change that cannot be made (a GPU that is not there, a name in use) raises at once and changes
nothing.
"""

from simulator.changes.containers import (
    add_ephemeral_container,
    exit_container,
    restart_container,
    start_other_container,
)
from simulator.changes.faults import (
    set_clock_ahead,
    set_driver_fault,
    set_gpu_lost,
    set_host_pids,
    set_runtime_fault,
    stick_shim,
)
from simulator.changes.health import (
    ask_for_recovery,
    fail_row_remap,
    raise_uncorrectable_errors,
    recover,
    replace_board,
    report_xid,
    reset_gpu,
)
from simulator.changes.nodes import add_gpu, add_node, change_addresses, remove_node, split_gpu
from simulator.changes.pods import bind_pod, delete_pod, start_pod
from simulator.changes.processes import (
    kill_process,
    reuse_pid,
    start_host_process,
    start_process,
)

__all__ = [
    "add_ephemeral_container",
    "add_gpu",
    "add_node",
    "ask_for_recovery",
    "bind_pod",
    "change_addresses",
    "delete_pod",
    "exit_container",
    "fail_row_remap",
    "kill_process",
    "raise_uncorrectable_errors",
    "recover",
    "remove_node",
    "replace_board",
    "report_xid",
    "reset_gpu",
    "restart_container",
    "reuse_pid",
    "set_clock_ahead",
    "set_driver_fault",
    "set_gpu_lost",
    "set_host_pids",
    "set_runtime_fault",
    "split_gpu",
    "start_host_process",
    "start_other_container",
    "start_pod",
    "start_process",
    "stick_shim",
]
