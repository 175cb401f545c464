"""How a reflector is doing, for readiness, metrics and people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ReflectorStatus:
    """What has happened so far.

    Attributes:
        kind: "pods".
        synced: Whether everything has been listed once.
        stale_since: Unix time in seconds since when changes may have been missed; None while a
            watch is open.
        last_error: Of the latest failure, also after it is over; "" for none.
        lists: Begun.
        watches: Accepted by the server.
        events: Taken from watches, bookmarks not among them.
        bookmarks: Taken from watches.
        outdated: Events that were older than what was known already, and were ignored.
        undecodable: Objects that could not be read, and were left out.
        failures: Of lists and watches.
    """

    kind: str
    synced: bool = False
    stale_since: float | None = None
    last_error: str = ""
    lists: int = 0
    watches: int = 0
    events: int = 0
    bookmarks: int = 0
    outdated: int = 0
    undecodable: int = 0
    failures: int = 0

    def connected(self) -> None:
        """A watch is open: nothing is missed from here on."""
        self.watches += 1
        self.stale_since = None

    def failed(self, error: str, now: float) -> None:
        """An attempt has failed at the Unix time ``now``."""
        self.failures += 1
        self.last_error = error
        if self.stale_since is None:
            self.stale_since = now
