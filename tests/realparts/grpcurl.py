"""Ask a gRPC server with grpcurl, a client that has nothing in common with ours.

It learns the service by reflection, unless it is given descriptors.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import grpc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}
_LARGEST_ANSWER: Final = 256 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    """A call's status; `body` is the answer in proto3 JSON, None unless the code is OK.

    A field in `body` that has its default is there only when `emit_defaults` was asked for.
    """

    code: grpc.StatusCode
    message: str
    body: Any


class GrpcurlError(RuntimeError):
    """grpcurl got no status: no connection, no such method, or JSON it cannot send."""


class Grpcurl:
    """The grpcurl program, ready to ask."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def call(
        self,
        target: str,
        method: str,
        request: Mapping[str, Any] | str | None = None,
        *,
        deadline_s: float = 10.0,
        headers: Mapping[str, str] | None = None,
        emit_defaults: bool = False,
        tls: Sequence[str] = ("-plaintext",),
    ) -> Answer:
        """Call `method` ("package.Service/Method") of the server at `target` ("host:port").

        A request that is a str goes out as it is, so that it may be bad JSON. `tls` are
        grpcurl's own options, -cacert and the like. Raises GrpcurlError.
        """
        data = request if isinstance(request, str) else json.dumps(request or {})
        options = [
            *tls,
            "-format-error",
            f"-max-time={deadline_s:g}",
            f"-max-msg-sz={_LARGEST_ANSWER}",
            "-d=@",
        ]
        options += [f"-H={key}: {value}" for key, value in (headers or {}).items()]
        if emit_defaults:
            options.append("-emit-defaults")
        return self._run([*options, target, method], data, deadline_s)

    def services(self, target: str, *, deadline_s: float = 10.0) -> list[str]:
        """The services that the server tells by reflection."""
        return self._reflected(target, "list", deadline_s=deadline_s).split()

    def describe(self, target: str, symbol: str, *, deadline_s: float = 10.0) -> str:
        """The proto text of a service, method or message that the server tells by reflection."""
        return self._reflected(target, "describe", symbol, deadline_s=deadline_s)

    def _reflected(self, target: str, *words: str, deadline_s: float) -> str:
        done = self._process(
            ["-plaintext", f"-max-time={deadline_s:g}", target, *words], "", deadline_s
        )
        if done.returncode != 0:
            raise GrpcurlError(f"grpcurl {target} {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def _run(self, arguments: Sequence[str], data: str, deadline_s: float) -> Answer:
        done = self._process(arguments, data, deadline_s)
        if done.returncode == 0:
            return Answer(grpc.StatusCode.OK, "", json.loads(done.stdout or "{}"))
        # With -format-error a status comes as JSON; whatever else went wrong does not.
        try:
            status = json.loads(done.stderr)
        except json.JSONDecodeError as error:
            what = " ".join(arguments)
            raise GrpcurlError(f"grpcurl {what}: {done.stderr.strip()}") from error
        return Answer(_CODES[status.get("code", 0)], status.get("message", ""), None)

    def _process(
        self, arguments: Sequence[str], data: str, deadline_s: float
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._program, *arguments],
            input=data,
            capture_output=True,
            text=True,
            timeout=deadline_s + 10.0,
            check=False,
        )
