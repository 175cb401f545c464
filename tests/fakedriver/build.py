"""Compiles the fake `libnvidia-ml.so.1`: `python -m tests.fakedriver.build [--out DIR]`.

Prints the folder to be named in LD_LIBRARY_PATH. Without `--out` it lies in the user's
cache, keyed by everything that goes into the library, and is built once.
Needs gcc and NVIDIA's header, which the PyPI package nvidia-nvml-dev has.
"""

import argparse
import enum
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent / "src"
LIBRARY = "libnvidia-ml.so.1"
HEADER_PACKAGE = "nvidia-nvml-dev"
FLAGS = (
    *("-std=gnu11", "-O2", "-g", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Werror", f"-Wl,-soname,{LIBRARY}"),
)


class Variant(enum.Enum):
    """Which generation of the library is built: they differ in the functions they have."""

    CURRENT = "current"
    BEFORE_510 = "before-510"
    """As before driver 510.39: no `_v3` process lists, no `nvmlDeviceGetMemoryInfo_v2`."""


class BuildError(Exception):
    """The library could not be built; the message says what to install or to mend."""


def header_folder() -> Path:
    """The folder with NVIDIA's nvml.h.

    Raises:
        BuildError: The package that has it is not installed.
    """
    try:
        files = importlib.metadata.files(HEADER_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "nvml.h":
            return Path(str(file.locate())).parent
    raise BuildError(f"nvml.h was not found: install the package {HEADER_PACKAGE}")


def cache_folder(variant: Variant) -> Path:
    """Where the library of these sources, header and flags lies once it has been built."""
    digest = hashlib.sha256(repr((variant.value, FLAGS)).encode())
    for file in sorted([*SOURCES.iterdir(), header_folder() / "nvml.h"]):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "gpupods" / "fakedriver" / digest.hexdigest()[:16]


def compile_into(folder: Path, variant: Variant) -> None:
    """Compiles into the folder; it is made if need be.

    Raises:
        BuildError: There is no gcc, no header, or gcc has found fault with the sources.
    """
    compiler = shutil.which("gcc")
    if compiler is None:
        raise BuildError("gcc was not found: install it to build the fake NVIDIA driver")
    folder.mkdir(parents=True, exist_ok=True)
    variant_flags = ("-DFAKE_BEFORE_510",) if variant is Variant.BEFORE_510 else ()
    sources = [str(source) for source in sorted(SOURCES.glob("*.c"))]
    result = subprocess.run(
        [
            *(compiler, *FLAGS, *variant_flags),
            *("-isystem", str(header_folder()), "-o", str(folder / LIBRARY), *sources),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if result.returncode != 0:
        raise BuildError(f"gcc could not build {LIBRARY}:\n{result.stderr}")


def build(variant: Variant = Variant.CURRENT) -> Path:
    """The folder of the built library, built now if it is not there yet.

    Safe when several processes build at once: each builds apart, and the first one in stays.

    Raises:
        BuildError: See `compile_into`.
    """
    folder = cache_folder(variant)
    if (folder / LIBRARY).exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as workshop:
        built = Path(workshop) / "lib"
        compile_into(built, variant)
        try:
            built.rename(folder)
        except OSError:
            if not (folder / LIBRARY).exists():
                raise
    return folder


def main() -> None:
    """Builds, and prints the folder."""
    parser = argparse.ArgumentParser(description="Builds the fake NVIDIA driver's NVML library.")
    parser.add_argument("--out", type=Path, help="folder to build into, instead of the cache")
    parser.add_argument(
        "--variant", choices=[v.value for v in Variant], default=Variant.CURRENT.value
    )
    arguments = parser.parse_args()
    variant = Variant(arguments.variant)
    if arguments.out is None:
        print(build(variant))
        return
    compile_into(arguments.out, variant)
    print(arguments.out)


if __name__ == "__main__":
    main()
