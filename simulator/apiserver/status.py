"""Errors as Kubernetes gives them: a Status object with the HTTP code in it."""

from __future__ import annotations

from simulator.apiserver.pod_object import Json


class StatusError(Exception):
    """Ends a request with a Status object of this HTTP code and reason."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message

    def object(self) -> Json:
        """The Status object."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }


def gone(message: str) -> StatusError:
    """410: the version or the page that was asked for is no longer kept."""
    return StatusError(410, "Expired", message)


def not_found(resource: str, name: str) -> StatusError:
    """404 of one object."""
    return StatusError(404, "NotFound", f'{resource} "{name}" not found')


def no_such_path() -> StatusError:
    """404 of a path that the server does not serve."""
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def bad_request(message: str) -> StatusError:
    """400."""
    return StatusError(400, "BadRequest", message)


def invalid(message: str) -> StatusError:
    """422: understood, and not allowed."""
    return StatusError(422, "Invalid", message)


def already_exists(resource: str, name: str) -> StatusError:
    """409 of what is to be created, and is there."""
    return StatusError(409, "AlreadyExists", f'{resource} "{name}" already exists')


def forbidden(message: str) -> StatusError:
    """403."""
    return StatusError(403, "Forbidden", message)


def conflict(resource: str, name: str) -> StatusError:
    """409: somebody else changed the object first."""
    return StatusError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {resource} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again",
    )


def wrong_uid(resource: str, name: str, wanted: str, found: str) -> StatusError:
    """409: the object of this name is another one than was meant."""
    return StatusError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {resource} "{name}": Precondition failed: '
        f"UID in precondition: {wanted}, UID in object meta: {found}",
    )


def budget_violated() -> StatusError:
    """429 of an eviction that a PodDisruptionBudget does not allow."""
    return StatusError(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
    )


def unauthorized() -> StatusError:
    """401."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> StatusError:
    """405."""
    return StatusError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )


def done() -> Json:
    """The Status object of a binding or an eviction."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }


def success(kind: str, name: str, uid: str) -> Json:
    """The Status object of a deletion."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": name, "kind": kind, "uid": uid},
    }
