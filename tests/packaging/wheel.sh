#!/usr/bin/env bash
# Builds a wheel from what git has, installs it where nothing else is, and uses it there.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git -C "$root" archive --format=tar HEAD | (mkdir "$work/source" && tar -x -C "$work/source")
python3 -m venv "$work/build"
"$work/build/bin/pip" install -q uv
"$work/build/bin/uv" build -q --wheel --out-dir "$work/dist" "$work/source"

python3 -m venv "$work/run"
"$work/build/bin/uv" pip install -q --python "$work/run/bin/python" "$work"/dist/*.whl
cd "$work"
for command in gpupods kubectl-gpupods gpupods-controller gpupods-nodeagent; do
    "$work/run/bin/$command" --version
done
"$work/run/bin/python" - <<'PYTHON'
from gpupods import Client
from gpupods.v1alpha1 import gpupods_pb2

fields = gpupods_pb2.GetGpuPodsResponse.DESCRIPTOR.fields_by_name
assert [(name, fields[name].number) for name in ("GpuPods", "GpuInfos")] == [
    ("GpuPods", 1),
    ("GpuInfos", 2),
]
print("the wheel's client and stubs load:", Client.__name__)
PYTHON
"$work/run/bin/gpupods" simulate --demo --once >"$work/demo.txt"
tail -n 3 "$work/demo.txt"
echo "1 passed, 0 failed"
