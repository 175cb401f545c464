"""The installed command as a process: names, help, pipes, terminals, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from gpupods.cli.exit_codes import MEANINGS, OF_A_WORD, ExitCode
from gpupods.version import VERSION
from tests.unit.gpupods.answers import busy_node, partial
from tests.unit.gpupods.controller_double import ControllerDouble
from tests.unit.gpupods.terminal import run_on_terminal

SCRIPTS = Path(sysconfig.get_path("scripts"))
GPUPODS = str(SCRIPTS / "gpupods")
PLUGIN = str(SCRIPTS / "kubectl-gpupods")
ESCAPE = "\x1b"
LIMIT_S = 60


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        env={**os.environ, **environment},
    )


def test_version() -> None:
    assert command(GPUPODS, "--version").stdout == f"gpupods {VERSION}\n"


def test_help_teaches_and_lists_the_exit_codes() -> None:
    shown = command(GPUPODS, "--help")
    assert shown.returncode == 0
    for name in ("get", "simulate", "completion"):
        assert f"  {name} " in shown.stdout
    for code in ExitCode:
        assert f"{int(code):>3}  {MEANINGS[code]}" in shown.stdout


def test_the_documentation_has_the_same_exit_codes() -> None:
    documentation = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
    for meanings in (MEANINGS, OF_A_WORD):
        rows = [f"| {int(code)} | {meaning} |" for code, meaning in meanings.items()]
        assert "\n".join(rows) + "\n\n" in documentation


@pytest.mark.parametrize(("program", "name"), [(GPUPODS, "gpupods"), (PLUGIN, "kubectl gpupods")])
def test_help_shows_the_name_it_was_called_by(program: str, name: str) -> None:
    shown = command(program, "get", "--help").stdout
    assert shown.startswith(f"Usage: {name} get [OPTIONS] POD\n")
    assert f"    {name} get train-0\n" in shown
    assert "{prog}" not in shown


def test_kubectl_finds_the_plugin(controller: ControllerDouble) -> None:
    path = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
    done = command(
        "kubectl", "gpupods", "get", "train-0", PATH=path, GPUPODS_SERVER=controller.target
    )
    assert done.stdout.startswith("node gpu-node-1")


@pytest.mark.parametrize("arguments", [["--help"], ["get", "--help"], ["get"], ["--version"]])
def test_what_needs_no_server_loads_no_grpc(arguments: list[str]) -> None:
    code = (
        "import sys, gpupods\n"
        "from gpupods.cli.__main__ import run\n"
        f"run({arguments!r}, 'gpupods')\n"
        "print('LOADED', {'grpc', 'rich', 'kubernetes', 'google.protobuf'} & set(sys.modules))"
    )
    assert command(sys.executable, "-c", code).stdout.endswith("LOADED set()\n")


def test_an_unknown_subcommand() -> None:
    done = command(GPUPODS, "got")
    assert done.returncode == ExitCode.USAGE
    assert "No such command 'got'" in done.stderr


def test_a_pipe_gets_no_escape_sequences(controller: ControllerDouble) -> None:
    controller.answer = lambda _: partial()
    done = command(GPUPODS, "get", "x", "--server", controller.target, TERM="xterm-256color")
    assert done.returncode == 0
    assert ESCAPE not in done.stdout + done.stderr


def test_a_terminal_gets_styles_and_a_panel(controller: ControllerDouble) -> None:
    controller.answer = lambda _: partial()
    shown = run_on_terminal([GPUPODS, "get", "train-0", "--server", controller.target], columns=120)
    assert shown.exit_code == 0
    assert f"{ESCAPE}[1m" in shown.text
    assert "This answer is not whole" in shown.text


def test_no_color_means_none(controller: ControllerDouble) -> None:
    controller.answer = lambda _: partial()
    shown = run_on_terminal(
        [GPUPODS, "get", "train-0", "--server", controller.target], columns=120, NO_COLOR="1"
    )
    assert shown.exit_code == 0
    assert "This answer is not whole" in shown.text
    assert ESCAPE not in shown.text


@pytest.mark.parametrize("wide", [False, True])
def test_a_narrow_terminal_keeps_names_whole(
    controller: ControllerDouble,
    wide: bool,  # noqa: FBT001 - a case
) -> None:
    controller.answer = lambda _: busy_node()
    words = [GPUPODS, "get", "train-0", "--server", controller.target, *["-o", "wide"] * wide]
    shown = run_on_terminal(words, columns=60, NO_COLOR="1")
    lines = shown.text.splitlines()
    assert any(line.endswith("serving/triton-7d9f8-x2x4q") for line in lines)
    assert any("Deployment/triton" in line for line in lines) is wide
    if wide:
        return
    assert max(map(len, lines)) <= 75  # only remarks are longer than the terminal


def test_someone_who_waits_sees_a_spinner(controller: ControllerDouble) -> None:
    controller.answer = controller.hang
    shown = run_on_terminal(
        [GPUPODS, "get", "x", "--server", controller.target, "--timeout", "1.5s"], columns=120
    )
    assert shown.exit_code == ExitCode.NO_ANSWER
    assert f"asking {controller.target} ..." in shown.text
    assert "did not answer within 1.5 s" in shown.text


def test_ctrl_c_is_a_clean_end(controller: ControllerDouble) -> None:
    controller.answer = controller.hang
    with subprocess.Popen(
        [GPUPODS, "get", "x", "--server", controller.target, "--timeout", "60s"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert controller.asked.wait(LIMIT_S)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == ExitCode.INTERRUPTED
    assert out + err.strip() == ""


@pytest.mark.parametrize("output", ["table", "json"])
def test_a_reader_that_has_gone(controller: ControllerDouble, output: str) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        done = subprocess.run(
            [GPUPODS, "get", "x", "-o", output, "--server", controller.target],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
    assert done.returncode == ExitCode.BROKEN_PIPE
    assert done.stderr == ""


def test_output_for_ascii_terminals(controller: ControllerDouble) -> None:
    response = busy_node()
    response.node_name = "knoten-\u00fc"
    controller.answer = lambda _: response
    done = command(
        GPUPODS, "get", "x", "--server", controller.target, PYTHONIOENCODING="ascii", LC_ALL="C"
    )
    assert done.returncode == 0
    assert "knoten-\\xfc" in done.stdout
