"""Builds the real grpc-gateway for our protos, and keeps it in the cache of the other real parts.

Its Go code is made from the protos by plugins of the versions that go.mod pins, into the cache;
the compiler sees it through an overlay, as if it stood beside main.go.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import google.api

from tests.realparts import gobuild

_MODULE = Path(__file__).resolve().parent
_ROOT = _MODULE.parents[3]
_GO_MODULE = "gpupods.test/realparts/gateway"
_BUILD_TIMEOUT_S = 1800

# Proto, below which folder it stands, and the Go package that is made of it.
_PROTOS = {
    Path("gpupods/v1alpha1/gpupods.proto"): (_ROOT / "protos", "gpupodspb"),
    Path("kinds.proto"): (_ROOT / "tests/unit/controller/http", "kindspb"),
}
_GATEWAY = "github.com/grpc-ecosystem/grpc-gateway/v2"
_PLUGINS = {
    "go": ("google.golang.org/protobuf/cmd/protoc-gen-go", "google.golang.org/protobuf"),
    "go-grpc": (
        "google.golang.org/grpc/cmd/protoc-gen-go-grpc",
        "google.golang.org/grpc/cmd/protoc-gen-go-grpc",
    ),
    "grpc-gateway": (f"{_GATEWAY}/protoc-gen-grpc-gateway", _GATEWAY),
}


def ensure() -> Path:
    """The gateway's path, built first where the cache has none of these sources.

    It is run as ``gateway --listen HOST:PORT --endpoint HOST:PORT``, and prints where it listens.

    Raises:
        gobuild.BuildError: Go or protoc is missing or refused something; the message says what.
    """
    kept = gobuild.cache_folder() / f"grpc-gateway-{_key()}"
    with gobuild._one_at_a_time(kept):
        if not kept.exists():
            _build(kept)
    return kept


def _key() -> str:
    release = _run([gobuild._go(), "version"], "go version")
    digest = hashlib.sha256(release.encode())
    for name in ("go.mod", "go.sum", "main.go", "build.py"):
        digest.update((_MODULE / name).read_bytes())
    for proto, (folder, _) in _PROTOS.items():
        digest.update((folder / proto).read_bytes())
    return digest.hexdigest()[:12]


def _build(kept: Path) -> None:
    print("building grpc-gateway (a minute the first time)", file=sys.stderr, flush=True)
    generated = kept.with_suffix(".generated")
    shutil.rmtree(generated, ignore_errors=True)
    generated.mkdir()
    _generate(generated)
    overlay = generated / "overlay.json"
    overlay.write_text(json.dumps({"Replace": _as_if_beside_main(generated)}))
    unfinished = kept.with_suffix(".unfinished")
    command = [gobuild._go(), "build", "-mod=readonly", "-trimpath", "-buildvcs=false"]
    command += ["-ldflags=-s -w", f"-overlay={overlay}", "-o", str(unfinished), "."]
    _run(command, "go build of the gateway")
    unfinished.rename(kept)
    shutil.rmtree(generated)


def _generate(out: Path) -> None:
    """Run the three plugins over the protos."""
    command = [sys.executable, "-m", "grpc_tools.protoc"]
    command += [f"--proto_path={folder}" for folder, _ in _PROTOS.values()]
    command.append(f"--proto_path={files('grpc_tools') / '_proto'}")
    command.append(f"--proto_path={Path(next(iter(google.api.__path__))).parents[1]}")
    for name, (package, version_of) in _PLUGINS.items():
        plugin = gobuild.ensure(gobuild.Program("gateway", package, version_of, ()))
        command.append(f"--plugin=protoc-gen-{name}={plugin}")
        command.append(f"--{name}_out={out}")
        command.append(f"--{name}_opt=module={_GO_MODULE}")
        command += [
            f"--{name}_opt=M{proto}={_GO_MODULE}/gen/{package}"
            for proto, (_, package) in _PROTOS.items()
        ]
    _run([*command, *map(str, _PROTOS)], "protoc")


def _as_if_beside_main(generated: Path) -> dict[str, str]:
    return {
        str(_MODULE / source.relative_to(generated)): str(source)
        for source in generated.rglob("*.go")
    }


def _run(command: list[str], what: str) -> str:
    done = subprocess.run(
        command,
        cwd=_MODULE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_BUILD_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise gobuild.BuildError(f"{what} failed:\n{done.stdout[-3000:]}")
    return done.stdout


if __name__ == "__main__":
    print(ensure())
