"""Makes the Python stubs of protos/ when the package is built.

A proto's folder is the folder of its stubs: protos/gpupods/v1alpha1/gpupods.proto becomes
gpupods/v1alpha1/gpupods_pb2.py with its .pyi and _pb2_grpc.py. They are made by
`pip install`, by building a wheel, and by `python build_stubs.py [FOLDER]`; nothing of them is
committed or edited.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def make_stubs(root: Path, out: Path) -> None:
    """Write the stubs of every proto under ``root/protos`` below ``out``.

    Raises:
        SystemExit: protoc refused a file; it has printed which and why.
    """
    from grpc_tools import protoc  # noqa: PLC0415 - only the build environment has it

    protos = root / "protos"
    sources = sorted(str(path.relative_to(protos)) for path in protos.rglob("*.proto"))
    arguments = [
        "protoc",
        f"--proto_path={protos}",
        f"--proto_path={files('grpc_tools') / '_proto'}",
        f"--proto_path={_googleapis()}",
        f"--python_out={out}",
        f"--grpc_python_out={out}",
        f"--plugin=protoc-gen-mypy={_plugin('protoc-gen-mypy')}",
        f"--plugin=protoc-gen-mypy_grpc={_plugin('protoc-gen-mypy_grpc')}",
        f"--mypy_out={out}",
        f"--mypy_grpc_out={out}",
        *sources,
    ]
    if protoc.main(arguments) != 0:
        raise SystemExit("protoc refused the files in protos/, see above")


def _googleapis() -> Path:
    """The folder that holds google/api/annotations.proto, from googleapis-common-protos."""
    import google.api  # noqa: PLC0415 - only the build environment has it

    return Path(next(iter(google.api.__path__))).parents[1]


def _plugin(name: str) -> str:
    """A protoc plugin's path: it is installed beside this interpreter or on the build's PATH."""
    import shutil  # noqa: PLC0415

    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        raise SystemExit(f"{name} is not installed; it comes with mypy-protobuf")
    return found


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand, outside a package build
    pass
else:

    class StubsBuildHook(BuildHookInterface):  # type: ignore[misc]
        """Hatchling's hook: called before files are gathered, for wheels and editable installs."""

        def initialize(self, version: str, build_data: dict[str, object]) -> None:
            """Make the stubs in the source tree, where hatchling picks them up as artifacts."""
            del version, build_data
            make_stubs(Path(self.root), Path(self.root))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    target.mkdir(parents=True, exist_ok=True)
    make_stubs(ROOT, target)
