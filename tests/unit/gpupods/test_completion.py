"""Completion: the scripts run in the shells that are here, and kubectl gets its own form."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

SCRIPTS = Path(sysconfig.get_path("scripts"))
LIMIT_S = 60
FOR_KUBECTL = "from gpupods.cli.completion import complete_for_kubectl as c; c()"


def output_of(*command: str, **environment: str) -> str:
    path = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
        env={**os.environ, "PATH": path, **environment},
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_ask_the_command(shell: str) -> None:
    script = output_of("gpupods", "completion", shell, PATH=str(SCRIPTS))
    assert f"_GPUPODS_COMPLETE={shell}_complete" in script
    executable = shutil.which(shell)
    if executable is not None:
        subprocess.run([executable, "-n"], input=script, text=True, check=True, timeout=LIMIT_S)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gpupods ", ["get", "gpu", "doctor", "simulate", "completion"]),
        ("gpupods gpu ", ["list", "exclude", "restore"]),
        ("gpupods get x --out", ["--output"]),
        ("gpupods get x -o ", ["table", "wide", "json", "yaml"]),
    ],
)
def test_bash_completes(line: str, expected: list[str]) -> None:
    words = line.split() + ([""] if line.endswith(" ") else [])
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        'eval "$(gpupods completion bash)"\n'
        f"COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}\n"
        "compopt() { :; }\n"
        f'_gpupods_completion gpupods\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    assert output_of("bash", "--norc", "-c", script).split() == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["ge"], ["get\tShow the GPUs of a pod's node and the processes on them.", ":4"]),
        (
            ["gpu", "l"],
            ["list\tList GPUs: their health, and the pods on them.", ":4"],
        ),
        (["get", "x", "-o", "w"], ["wide", ":4"]),
        (["get", "x", "--kubeconfig", ""], [":0"]),
        (["get", ""], [":4"]),
    ],
)
def test_kubectl_completes(arguments: list[str], expected: list[str]) -> None:
    assert output_of(sys.executable, "-c", FOR_KUBECTL, *arguments).splitlines() == expected


def test_kubectl_finds_the_completion(tmp_path: Path) -> None:
    program = tmp_path / "kubectl_complete-gpupods"
    program.write_text(f"#!{sys.executable}\n{FOR_KUBECTL}\n")
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["kubectl", "__complete", "gpupods", "get", "x", "-o", ""],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
        env={**os.environ, "PATH": path},
    )
    assert done.stdout.splitlines() == ["table", "wide", "json", "yaml", ":4"]


def test_an_unknown_shell() -> None:
    done = subprocess.run(
        [str(SCRIPTS / "gpupods"), "completion", "tcsh"],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in done.stderr
