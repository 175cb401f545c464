"""The ways in which the API server can fail a request, as far as they ask for different answers."""

from __future__ import annotations

from http import HTTPStatus

GONE = HTTPStatus.GONE


class ApiError(Exception):
    """A request to the API server failed. ``str()`` of it is for people to read."""

    retry_after_s: float = 0.0
    """The least time that the server asked to be left alone, 0 if it did not."""


class UnreachableError(ApiError):
    """No answer: no connection, a broken one, or silence beyond the limit."""


class RefusedError(ApiError):
    """The server answered with an error of its own, HTTP status ``status``."""

    def __init__(self, status: int, message: str, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s

    @property
    def is_final(self) -> bool:
        """Whether the server has understood the request, and will not do it another time either."""
        later = self.status == HTTPStatus.TOO_MANY_REQUESTS
        return self.status < HTTPStatus.INTERNAL_SERVER_ERROR and not later


class GoneError(RefusedError):
    """The version or the page that was asked for is no longer kept: list again."""

    def __init__(self, message: str) -> None:
        super().__init__(GONE, message)


class MalformedError(ApiError):
    """The answer is not what the Kubernetes API says it is."""


def refusal_in_stream(code: int, message: str) -> ApiError:
    """What an ERROR event of a watch amounts to."""
    if code == GONE:
        return GoneError(f"watch: {message}")
    if code == 0:
        return MalformedError("watch: an ERROR event without a Status")
    return RefusedError(code, f"watch: {code} {message}")
