"""A kube-apiserver with every admission plugin that is on by default, and its namespaces' end.

The one of `tests.realparts` leaves out what would refuse a bare pod; here that is the point.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from tests.manifests.rendering import NAMESPACE
from tests.realparts.apiserver import Apiserver
from tests.realparts.processes import PartFailedError

if TYPE_CHECKING:
    from pathlib import Path

_EVENTS: Final = frozenset({"events", "events.events.k8s.io"})


class AdmittingApiserver(Apiserver):
    """Admits and validates as a cluster does. There are no controllers: no pod ever starts."""

    def _flags(self) -> list[str]:
        return [flag for flag in super()._flags() if "--disable-admission-plugins" not in flag]

    def apply(self, folder: Path, *options: str) -> str:
        """`kubectl apply -k`, unknown fields being errors."""
        return self.kubectl("apply", "--validate=strict", *options, "-k", str(folder))

    def everything(self) -> set[str]:
        """Every object there is, as `resource/namespace/name`; events left out."""
        listed = self.kubectl("api-resources", "--verbs=list", "-o", "name").split()
        kinds = ",".join(sorted(set(listed) - _EVENTS))
        template = '{range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{"\\n"}{end}'
        return set(self.kubectl("get", kinds, "-A", "-o", f"jsonpath={template}").split())

    def forget_namespace(self, name: str = NAMESPACE) -> None:
        """Delete a namespace, and say that it is empty, as the namespace controller would."""
        self.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
        path = f"/api/v1/namespaces/{name}"
        try:
            found = json.loads(self.kubectl("get", "--raw", path))
        except PartFailedError:
            return
        found["spec"]["finalizers"] = []
        self.kubectl("replace", "--raw", f"{path}/finalize", "-f", "-", stdin=json.dumps(found))
