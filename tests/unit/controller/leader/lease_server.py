"""A server that holds one lease and nothing else: versions count up, an old one is refused."""

from __future__ import annotations

from controller.leader.api import ClaimRefusedError
from controller.leader.lease import Claim, Lease


class LeaseServer:
    """As much of the API server as an election needs, without time and without a network."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.version = 100

    def write(self, claim: Claim) -> Lease:
        """Do it, if the claim was made over what is there now.

        Raises:
            ClaimRefusedError: it was not.
        """
        now = self.lease.version if self.lease else None
        seen = claim.over.version if claim.over else None
        if now != seen:
            raise ClaimRefusedError(f"made over version {seen}, which is now {now}")
        self.version += 1
        self.lease = Lease(claim.holder, claim.duration_s, claim.transitions, str(self.version))
        return self.lease
