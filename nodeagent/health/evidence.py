"""What ends a fault, and whether it is there. Pure: asks a state, and changes nothing."""

from __future__ import annotations

from nodeagent.health.causes import FaultClass
from nodeagent.health.condition import Fault, GpuState
from nodeagent.health.policy import Policy


def has_ended(fault: Fault, state: GpuState, policy: Policy) -> bool:
    """Whether the evidence that ``fault`` asks for is there."""
    if policy.rule(fault.cause).fault_class.leaves_fit:
        return True  # the policy has changed
    if fault.accepted is not None:
        return False
    return only_time_is_wanting(fault, state, policy) and _verified(fault, state, policy)


def only_time_is_wanting(fault: Fault, state: GpuState, policy: Policy) -> bool:
    """Whether all that ``fault`` asks for is that the GPU stays clean."""
    rebooted = fault.boot_id != state.boot_id
    match policy.rule(fault.cause).fault_class:
        case FaultClass.UNTIL_VERIFIED:
            return True
        case FaultClass.UNTIL_RESET:
            return rebooted or (state.reset_s is not None and state.reset_s > fault.last_s)
        case FaultClass.UNTIL_REBOOT:
            return rebooted
        case _:
            return False


def _verified(fault: Fault, state: GpuState, policy: Policy) -> bool:
    clean = state.clean
    if clean is None or clean.readings < policy.recovery.clean_readings:
        return False
    if fault.boot_id == state.boot_id and clean.since_s <= fault.last_s:
        return False
    return clean.last_s - clean.since_s >= dwell_s(state, policy)


def dwell_s(state: GpuState, policy: Policy) -> float:
    """How long this GPU must stay clean to be fit again."""
    return policy.recovery.dwell_after(state.relapses)
