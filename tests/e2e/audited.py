"""A real API server that writes down every request, and what it has written down."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from tests.realparts.apiserver import Apiserver
from tests.realparts.parts import Parts

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


@dataclass(frozen=True)
class Write:
    """A request that could change something."""

    verb: str
    what: str
    """"nodes/status", "events"."""
    name: str
    code: int
    at: float = field(compare=False, default=0.0)
    """When it was answered, in seconds since the epoch."""


class AuditedApiserver(Apiserver):
    """Its audit log has each request before it is answered."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._audit_policy = self._folder / "audit-policy.json"
        self._audit_log = self._folder / "audit.log"
        self._audit_policy.write_text(json.dumps(_POLICY))

    def writes(self) -> list[Write]:
        """Every write of our programs so far, in order; not those of tests and of the server."""
        found = []
        for line in self._audit_log.read_text().splitlines():
            event = json.loads(line)
            if event["verb"] not in WRITES or not event["userAgent"].startswith("gpupods/"):
                continue
            about = event["objectRef"]
            parts = [about["resource"], about.get("subresource")]
            what = "/".join(part for part in parts if part)
            code = event["responseStatus"]["code"]
            at = datetime.fromisoformat(event["stageTimestamp"]).timestamp()
            found.append(Write(event["verb"], what, about.get("name", ""), code, at))
        return found

    def patches(self, node: str) -> int:
        """How often the status of the Node was patched."""
        wanted = Write("patch", "nodes/status", node, 200)
        return self.writes().count(wanted)

    def _flags(self) -> list[str]:
        return [
            *super()._flags(),
            f"--audit-policy-file={self._audit_policy}",
            f"--audit-log-path={self._audit_log}",
        ]
