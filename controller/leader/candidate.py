"""A replica as a candidate, from its settings and its access to the API server."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable
from pathlib import Path

from controller.leader.api import LeaseApi
from controller.leader.election import Election, Terms
from controller.leader.elector import Elector, identity_of
from controller.settings import ControllerSettings
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
DEFAULT_NAMESPACE = "gpupods-system"


class Candidate:
    """Takes part in the election between `start` and `stop`.

    Args:
        settings: Which lease it is, and for how long it lasts.
        access: The API server.
        changed: Called when this replica has begun or ceased to lead. Must not block.
    """

    def __init__(
        self, settings: ControllerSettings, access: KubeAccess, changed: Callable[[], None]
    ) -> None:
        self._api = KubeApi(access)
        namespace = lease_namespace(settings)
        # A pod's host name is the pod's name.
        identity = identity_of(socket.gethostname(), str(uuid.uuid4()))
        self._elector = Elector(
            LeaseApi(self._api, namespace, settings.lease_name),
            Election(identity, Terms(settings.lease_duration)),
            changed,
        )

    def leads(self) -> bool:
        """Whether this replica leads at this very moment."""
        return self._elector.leads()

    def another_leads(self) -> bool:
        """Whether another replica held the lease when it was last looked at."""
        return self._elector.another_leads()

    def leader(self) -> str:
        """The pod of the replica that leads, "" if it is this one or is not known just now."""
        return self._elector.leader()

    def standing(self) -> str:
        """Who leads, for people to read."""
        return self._elector.standing()

    async def start(self) -> None:
        """Begin; returns at once."""
        await self._elector.start()

    async def stop(self) -> None:
        """Give the lease back, if it is held, and close the connections."""
        await self._elector.stop()
        await self._api.close()


def lease_namespace(settings: ControllerSettings) -> str:
    """Where the lease is."""
    return settings.lease_namespace or own_namespace()


def own_namespace(file: Path = NAMESPACE_FILE) -> str:
    """The namespace of the pod that this runs in, else where gpupods is installed by default."""
    try:
        return file.read_text().strip() or DEFAULT_NAMESPACE
    except OSError:
        return DEFAULT_NAMESPACE
