"""`python -m tests.bench [NAME ...] [--quick] [--json FILE]`: runs benchmarks one after another.

A benchmark is a module of this package that has ``def main() -> None``; the first line of its
docstring says what it measures. Each runs in a process of its own, so that none measures what
another has left behind.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
from pathlib import Path

from tests.bench.report import JSON_VARIABLE, QUICK_VARIABLE

_FOLDER = Path(__file__).parent


def benchmarks() -> dict[str, str]:
    """What each benchmark measures, by the benchmark's name."""
    found = {}
    for path in sorted(_FOLDER.glob("[!_]*.py")):
        module = ast.parse(path.read_text())
        functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
        if "main" in functions:
            found[path.stem] = (ast.get_docstring(module) or "").partition("\n")[0]
    return found


def main() -> int:
    """The exit code: how many of those asked for broke."""
    known = benchmarks()
    listed = "\n".join(f"  {name:20}{text}" for name, text in known.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=f"Measures. The benchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="*", help="which to run; none: all")
    parser.add_argument("--json", type=Path, help="also write the figures here, a table a line")
    parser.add_argument("--quick", action="store_true", help="see that it works: less of it")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.name if name not in known]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    if arguments.json:
        arguments.json.write_text("")
        os.environ[JSON_VARIABLE] = str(arguments.json.resolve())
    if arguments.quick:
        os.environ[QUICK_VARIABLE] = "1"
    broken = [name for name in arguments.name or known if not _run(name)]
    for name in broken:
        print(f"benchmark {name} broke; see above", file=sys.stderr)
    return len(broken)


def _run(name: str) -> bool:
    """Whether it ended well."""
    command = f"from tests.bench.{name} import main; main()"
    return subprocess.run([sys.executable, "-c", command], check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
