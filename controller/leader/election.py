"""One candidate's part in an election by Lease. Pure: it is told the time, and does no I/O.

The rules are those of client-go's leader election, with one difference: how long a leader may
lead follows from the lease's duration, so that the two cannot be set against each other.

- Who holds the lease may lead for two thirds of its duration after it *asked* for the renewal
  that was granted.
- Who does not hold it may take it when it has not changed for the whole duration since it was
  *seen*, and when its holder has given it back.

Each measures with its own clock, and only differences: that two machines do not agree on the
time does not matter. There are never two leaders while no clock runs a fifth faster or slower
than it should. That a write replaces what its writer has seen, and nothing newer, is the API
server's to check.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.leader.lease import NOBODY, Claim, Lease

GIVEN_BACK_S = 1
"""The duration that a lease has when its holder gives it back: the least that is allowed."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The times of an election, all of them from one.

    Attributes:
        duration_s: How long a lease lasts without being renewed, in whole seconds.
    """

    duration_s: int = 3

    @property
    def hold_s(self) -> float:
        """How long the holder may lead after asking for a renewal."""
        return self.duration_s * 2 / 3

    @property
    def renew_every_s(self) -> float:
        """The holder's pause between renewals."""
        return self.duration_s / 4

    @property
    def look_every_s(self) -> float:
        """The pause of those who wait for their turn."""
        return self.duration_s / 6


class Election:
    """What one candidate knows, and what it may do.

    Args:
        identity: Its own; no other candidate has it, nor has one ever had it.
        terms: Those that it offers. Others may have other ones.
    """

    def __init__(self, identity: str, terms: Terms) -> None:
        self.identity = identity
        self._terms = terms
        self._lease: Lease | None = None
        self._unchanged_since = 0.0
        self._deleted = False
        self._sure = False
        self._leads_until: float | None = None

    # What may be asked

    def leads(self, now: float) -> bool:
        """Whether this candidate is the leader."""
        return self._leads_until is not None and now < self._leads_until

    def holder(self) -> str:
        """Who held the lease when it was last seen, `NOBODY` if nobody did, or nobody looked."""
        return NOBODY if self._lease is None or self._deleted else self._lease.holder

    def leads_until(self) -> float:
        """When the time as the leader is over, unless it is prolonged; 0 for who does not lead."""
        return self._leads_until or 0.0

    def pause_s(self, now: float) -> float:
        """How long to wait before the next attempt."""
        return self._terms.renew_every_s if self.leads(now) else self._terms.look_every_s

    def must_look(self) -> bool:
        """Whether the lease has to be read before it can be claimed."""
        return not self._sure

    def claim(self, now: float) -> Claim | None:
        """What to write now; None: somebody else holds the lease."""
        lease = self._lease
        if lease is not None and not self._is_free(lease, now):
            return None
        over = None if self._deleted else lease
        ours = over is not None and over.holder == self.identity
        transitions = over.transitions if over is not None else 0
        return Claim(
            holder=self.identity,
            duration_s=self._terms.duration_s,
            transitions=transitions if ours or over is None else transitions + 1,
            anew=not ours,
            over=over,
        )

    def _is_free(self, lease: Lease, now: float) -> bool:
        if lease.holder in (NOBODY, self.identity):
            return True
        lasts_s = lease.duration_s or self._terms.duration_s
        return now - self._unchanged_since > lasts_s

    # What happens

    def saw(self, lease: Lease | None, now: float) -> None:
        """The lease was read, or found not to exist. ``now``: after the answer came."""
        self._sure = False  # by the next attempt it may be another's
        if lease is None:
            # Somebody has deleted it. Whoever held it may not know yet.
            self._deleted = True
            self._leads_until = None
            return
        self._deleted = False
        if self._lease is None or self._lease.version != lease.version:
            self._unchanged_since = now
        self._lease = lease
        if lease.holder != self.identity:
            self._leads_until = None

    def wrote(self, lease: Lease, asked: float) -> None:
        """The server has accepted a claim. ``asked``: before the request was sent."""
        self._lease = lease
        self._unchanged_since = asked
        self._deleted = False
        self._sure = True
        self._leads_until = asked + self._terms.hold_s

    def doubt(self) -> None:
        """A claim was refused, or its fate is not known: look again before the next."""
        self._sure = False

    def resign(self) -> Claim | None:
        """Stop leading at once.

        Returns: what to write so that others need not wait; None where the lease is another's.
        """
        self._leads_until = None
        lease = self._lease
        if lease is None or self._deleted or lease.holder != self.identity:
            return None
        return Claim(NOBODY, GIVEN_BACK_S, lease.transitions, anew=False, over=lease)
