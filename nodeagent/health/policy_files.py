"""The policy in force: the built-in table and the operator's file, read again when that changes.

A ConfigMap's mount changes by a swap of symlinks, which only a look at the file itself shows, so
it is looked at by name each time. A file that is wrong is told once and changes nothing. One that
is being written, or is away for a moment, changes nothing either: faults that its lines stand for
would end with them, and not come back.
"""

from __future__ import annotations

from pathlib import Path

from nodeagent.health.policy import Policy, PolicyError, built_in_policy, overridden

_Stamp = tuple[int, int, int, int]
_MISSING: _Stamp = (0, 0, 0, 0)


class PolicyFiles:
    """``operators`` is the path of the operator's file; None: there is none.

    Attributes:
        policy: What is in force.
        problem: What is wrong with the operator's file; empty if nothing is.
    """

    def __init__(self, operators: Path | None) -> None:
        self._built_in = built_in_policy()
        self._operators = operators
        self._stamp: _Stamp | None = None
        """Of the file that was acted on; None: the next look is acted on, whatever it finds."""
        self._seen: _Stamp | None = None
        """At the last look."""
        self.policy: Policy = self._built_in
        self.problem = ""

    def refresh(self) -> bool:
        """Look whether the operator's file has changed, and was so at the last look already.

        Returns: whether ``policy`` or ``problem`` has.
        """
        if self._operators is None:
            return False
        try:
            stamp = _stamp_of(self._operators)
            settled = self._stamp is None or stamp == self._seen
            self._seen = stamp
            if stamp == self._stamp or not settled:
                return False
            return self._act_on(self._operators, stamp)
        except (OSError, UnicodeDecodeError) as error:
            return self._refused(f"{self._operators} cannot be read: {error}", None)

    def _act_on(self, file: Path, stamp: _Stamp) -> bool:
        if stamp == _MISSING:
            problem = f"there is no {file}; the built-in policy is in force"
            return self._now(self._built_in, problem, stamp)
        try:
            policy = overridden(self._built_in, file.read_text())
        except PolicyError as error:
            return self._refused(f"{file}, {error}", stamp)
        return self._now(policy, "", stamp)

    def _refused(self, problem: str, stamp: _Stamp | None) -> bool:
        return self._now(self.policy, f"{problem}; the policy that was in force stays", stamp)

    def _now(self, policy: Policy, problem: str, stamp: _Stamp | None) -> bool:
        changed = policy != self.policy or problem != self.problem
        self.policy, self.problem, self._stamp = policy, problem, stamp
        return changed


def _stamp_of(file: Path) -> _Stamp:
    try:
        stat = file.stat()
    except FileNotFoundError:
        return _MISSING
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size
