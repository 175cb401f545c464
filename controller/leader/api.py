"""The election's way to the API server: one Lease is read, made and replaced."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus

from controller.leader.lease import Claim, Lease, lease_from, lease_object
from gpupods.kube.api import KubeApi
from gpupods.kube.failures import MalformedError, RefusedError

NEEDED = "the controller's role must allow get, create and update of leases in its namespace"


class ClaimRefusedError(Exception):
    """Somebody else was first."""


class LeaseApi:
    """The Lease ``name`` of ``namespace``."""

    def __init__(self, api: KubeApi, namespace: str, name: str) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name
        self._all = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"

    def __str__(self) -> str:
        """For messages."""
        return f"{self._namespace}/{self._name}"

    async def read(self, limit_s: float) -> Lease | None:
        """The lease as it is now; None if there is none.

        Raises:
            ApiError: it could not be read within ``limit_s``.
        """
        path = f"{self._all}/{self._name}"
        try:
            return _lease(await self._api.ask("GET", path, limit_s=limit_s, needed=NEEDED))
        except RefusedError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def write(self, claim: Claim, limit_s: float) -> Lease:
        """Make or replace the lease, if it still is what the claim was made over.

        Raises:
            ClaimRefusedError: it is not.
            ApiError: it was not written, or that is not known.
        """
        body = lease_object(claim, self._namespace, self._name, datetime.now(UTC))
        method, path = "PUT", f"{self._all}/{self._name}"
        if claim.over is None:
            method, path = "POST", self._all
        try:
            made = await self._api.ask(method, path, body, limit_s=limit_s, needed=NEEDED)
        except RefusedError as error:
            if error.status == HTTPStatus.CONFLICT or (
                error.status == HTTPStatus.NOT_FOUND and claim.over is not None
            ):
                raise ClaimRefusedError(str(error)) from error
            raise
        return _lease(made)


def _lease(thing: dict[str, object]) -> Lease:
    try:
        return lease_from(thing)
    except ValueError as error:
        raise MalformedError(str(error)) from error
