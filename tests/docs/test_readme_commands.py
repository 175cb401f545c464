"""Every command that a page shows is run, and prints what the page shows below it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from gpupods.cli.program import program
from tests.docs.pages import ROOT, Block, Page, page, pages
from tests.docs.shown import Shown, assert_printed, shown
from tests.docs.world import World

STAYING = {"gpupods-nodeagent": "node agent serves", "gpupods-controller": '"ready"'}
"""Services that are started by hand, and what they log once they serve."""

ANY_PORT = {
    "GPUPODS_NODEAGENT_GRPC_LISTEN": "127.0.0.1:0",
    "GPUPODS_NODEAGENT_STATE_DIR": "",
    "GPUPODS_CONTROLLER_GRPC_LISTEN": "127.0.0.1:0",
    "GPUPODS_CONTROLLER_HTTP_LISTEN": "127.0.0.1:0",
}


def blocks(language: str) -> Iterator[tuple[Page, Block]]:
    return (
        (each, block) for each in pages() for block in each.blocks() if language == block.language
    )


def consoles() -> list[object]:
    """Blocks with their names. Those with grpcurl, which has to be built, are end-to-end tests."""
    return [
        pytest.param(
            block,
            id=f"{each}:{block.line}",
            marks=[pytest.mark.e2e, pytest.mark.timeout(600)] if "grpcurl" in block.text else [],
        )
        for each, block in blocks("console")
    ]


@pytest.mark.parametrize("block", consoles())
def test_a_command_prints_what_is_shown(
    block: Block, world: World, request: pytest.FixtureRequest
) -> None:
    if "grpcurl" in block.text:
        world.add_program("grpcurl", request.getfixturevalue("real_parts").grpcurl)
    commands = shown(block.text)
    assert commands
    if is_simulation(commands[0]) and "--once" not in commands[0].command:
        with world.simulation(commands[0].command) as (own, printed):
            assert_printed(commands[0].output, printed)
            run_all(commands[1:], own)
    else:
        run_all(commands, world)


def is_simulation(command: Shown) -> bool:
    return command.command.startswith("gpupods simulate") and " inject " not in command.command


def run_all(commands: list[Shown], world: World) -> None:
    for each in commands:
        program = shlex.split(each.command)[0]
        if program == "curl" and not world.has("curl"):
            pytest.skip("curl is not installed")
        if program in STAYING:
            with world.started(each.command, STAYING[program], **ANY_PORT):
                continue
        command = each.command
        if is_simulation(each):
            command += " --grpc-listen 127.0.0.1:0 --http-listen 127.0.0.1:0"
        ran = world.run(command)
        assert "Traceback" not in ran.printed
        assert_printed(each.output, ran.printed)


def programs_of_pages() -> list[object]:
    """Python blocks, each with the text block that follows it at once, if one does."""
    found: list[object] = []
    for each in pages():
        of_page = each.blocks()
        for number, block in enumerate(of_page):
            if block.language == "python":
                following = of_page[number + 1 : number + 2]
                output = next((text.text for text in following if text.language == "text"), None)
                found.append(pytest.param(block, output, id=f"{each}:{block.line}"))
    return found


@pytest.mark.parametrize(("block", "output"), programs_of_pages())
def test_a_python_program_prints_what_is_shown(
    block: Block, output: str | None, world: World
) -> None:
    ran = world.run(f"python <<'END'\n{block.text}END\n")
    assert ran.code == 0, ran.printed
    if output is not None:
        assert_printed(output.splitlines(), ran.printed)


def synopses() -> list[object]:
    """Lines of plain blocks that are commands of ours, up to the words about them."""
    return [
        pytest.param(re.split(r"  +", line)[0], id=f"{each}:{line[:40]}")
        for each, block in blocks("")
        for line in block.text.splitlines()
        if line.startswith("gpupods ")
    ]


@pytest.mark.parametrize("line", synopses())
def test_a_command_of_a_synopsis_is_understood(line: str) -> None:
    command: click.Command = program
    name, *words = shlex.split(line)
    while isinstance(command, click.Group) and words:
        name, *words = words
        found = command.get_command(click.Context(command), name)
        assert found is not None, name
        command = found
    command.make_context(name, words, resilient_parsing=False)


@pytest.mark.parametrize("each", pages(), ids=str)
def test_a_make_target_that_is_named_exists(each: Page) -> None:
    makefile = page("Makefile").text
    for target in re.findall(r"`make ([a-z0-9-]+)", each.text):
        assert re.search(rf"^{target}: .*## ", makefile, re.MULTILINE), target


def test_the_gate_runs_what_a_newcomer_is_told_to_run() -> None:
    gate = (ROOT / ".ci" / "run").read_text().splitlines()
    for command in ("make demo ARGS=--once", "make test", "make lint", "make e2e"):
        assert command in gate
        assert f"`{command}`" in page("README.md").text + page("CONTRIBUTING.md").text


def test_the_readme_can_be_read_in_one_go() -> None:
    assert len(page("README.md").text.splitlines()) < 200
