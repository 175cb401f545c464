"""The life of one GPU, step by step, for tests of the machine: time, readings, XIDs, reboots."""

from __future__ import annotations

from dataclasses import dataclass, field

from nodeagent.health.causes import Condition
from nodeagent.health.condition import GpuState, Now
from nodeagent.health.machine import step
from nodeagent.health.observations import (
    Excluded,
    Presence,
    Reading,
    Restored,
    Seen,
    TimePassed,
    Word,
    XidSeen,
)
from nodeagent.health.policy import Policy, built_in_policy

BUILT_IN = built_in_policy()
DWELL_S = BUILT_IN.recovery.dwell_s
POLL_S = 5.0
WELL = Reading(Presence.PRESENT, 0, remap_failure=False, remap_pending=False)
GEFORCE = Reading(Presence.PRESENT)
LOST = Reading(Presence.LOST)


@dataclass
class Life:
    """What `step` makes of it is in ``state``; all that happened in ``told``."""

    policy: Policy = BUILT_IN
    state: GpuState = field(default_factory=GpuState)
    boots: int = 1
    boot_s: float = 1000.0
    wall: float = 1_800_000_000.0
    told: list[tuple[Now, Seen]] = field(default_factory=list)

    @property
    def now(self) -> Now:
        return Now(f"boot-{self.boots}", self.boot_s, self.wall)

    @property
    def fit(self) -> bool:
        return self.state.fit

    @property
    def causes(self) -> list[str]:
        return [str(fault.cause) for fault in self.state.counting]

    def tell(self, seen: Seen) -> None:
        self.told.append((self.now, seen))
        self.state = step(self.state, seen, self.now, self.policy)

    def wait(self, seconds: float) -> None:
        self.boot_s += seconds
        self.wall += seconds
        self.tell(TimePassed())

    def xid(self, xid: int, *, ago_s: float = 0.0, source: str = "nvml") -> None:
        self.tell(XidSeen(xid, self.boot_s - ago_s, source))

    def read(self, reading: Reading = WELL) -> None:
        self.wait(POLL_S)
        self.tell(reading)

    def read_for(self, seconds: float, reading: Reading = WELL) -> None:
        until = self.boot_s + seconds
        while self.boot_s < until:
            self.read(reading)

    def recover(self, reading: Reading = WELL) -> None:
        """Clean readings for longer than any dwell."""
        self.read_for(self.policy.recovery.longest_dwell_s + 2 * POLL_S, reading)

    def reboot(self, after_s: float = 30.0) -> None:
        self.boots += 1
        self.wall += 300.0
        self.boot_s = after_s
        self.tell(TimePassed())

    def exclude(self, until_wall: float | None = None) -> None:
        self.tell(Excluded(Word("anna", "looks odd", self.wall, until_wall)))

    def restore(self, until_wall: float | None = None) -> None:
        self.tell(Restored(Word("anna", "looked at it", self.wall, until_wall)))


def condition(name: Condition) -> str:
    return name.value
