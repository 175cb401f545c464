"""The policy in force: the built-in table and the operator's file, read again when that changes.

A ConfigMap's mount changes by a swap of symlinks, which only a look at the file itself shows, so
it is looked at by name each time. A file that is wrong is told once and changes nothing.
"""

from __future__ import annotations

from pathlib import Path

from nodeagent.health.policy import Policy, PolicyError, built_in_policy, overridden

_Stamp = tuple[int, int, int, int]


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
        self.policy: Policy = self._built_in
        self.problem = ""

    def refresh(self) -> bool:
        """Look whether the operator's file has changed.

        Returns: whether ``policy`` or ``problem`` has.
        """
        if self._operators is None:
            return False
        try:
            stat = self._operators.stat()
            stamp = (stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if stamp == self._stamp:
                return False
            text = self._operators.read_text()
            policy = overridden(self._built_in, text)
        except FileNotFoundError:
            problem = f"there is no {self._operators}; the built-in policy is in force"
            return self._now(self._built_in, problem, None)
        except PolicyError as error:
            return self._refused(f"{self._operators}, {error}", stamp)
        except (OSError, UnicodeDecodeError) as error:
            return self._refused(f"{self._operators} cannot be read: {error}", None)
        return self._now(policy, "", stamp)

    def _refused(self, problem: str, stamp: _Stamp | None) -> bool:
        return self._now(self.policy, f"{problem}; the policy that was in force stays", stamp)

    def _now(self, policy: Policy, problem: str, stamp: _Stamp | None) -> bool:
        changed = policy != self.policy or problem != self.problem
        self.policy, self.problem, self._stamp = policy, problem, stamp
        return changed
