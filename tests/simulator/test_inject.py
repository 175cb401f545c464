"""`gpupods simulate inject` on a simulation that runs in another process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.simulator.running import patiently
from tests.simulator.test_command import ANYWHERE, SMALL, lines_until

COMMAND = (sys.executable, "-m", "gpupods.cli", "simulate")


@dataclass(frozen=True)
class Terminal:
    """Where simulations and injections find each other, and nobody else's."""

    temporary: Path

    @property
    def folder(self) -> Path:
        return self.temporary / f"gpupods-simulations-{os.getuid()}"

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *COMMAND, *arguments,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=os.environ | {"TMPDIR": str(self.temporary)},
        )  # fmt: skip

    async def inject(self, *arguments: str) -> tuple[int | None, str, str]:
        process = await self.start("inject", *arguments)
        out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()

    @asynccontextmanager
    async def simulation(self, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
        process = await self.start(*SMALL, *ANYWHERE, *arguments)
        try:
            await lines_until(process, "Ctrl-C ends it.")
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
                await process.communicate()


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


def there(path: Path) -> list[Path]:
    return list(path.glob("*"))


async def test_a_fault_and_its_end_show_on_the_node_and_nothing_is_left(
    terminal: Terminal,
) -> None:
    policy = terminal.temporary / "policy.toml"
    policy.write_text("[recovery]\ndwell_s = 0.1\nclean_readings = 1\n")
    async with terminal.simulation("--health-policy", str(policy)) as simulation:
        (socket,) = there(terminal.folder)
        assert socket.name == f"{simulation.pid}.sock"
        assert socket.stat().st_mode & 0o077 == 0
        code, out, err = await terminal.inject("--node", "gpu-a100-1", "--gpu", "1", "--xid", "79")
        assert (code, err) == (0, "")
        done, hurt, see = out.splitlines()
        assert done.startswith("gpu-a100-1 GPU 1 (NVIDIA A100-SXM4-80GB, GPU-")
        assert done.endswith(": XID 79 reported")
        assert "pods on it: " in hurt
        command = see.partition("see: ")[2].partition(" gpu ")[2].split()
        assert "XID 79" in await listed(command)
        code, out, _ = await terminal.inject("--node", "gpu-a100-1", "--recover")
        assert (code, out.splitlines()[0][:21]) == (0, "gpu-a100-1 restarted:")
        async for _ in patiently():
            if "XID" not in (printed := await listed(command)):
                break
        assert "XID" not in printed
    assert there(terminal.temporary) == [policy]


async def listed(arguments: list[str]) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gpupods.cli", "gpu", *arguments, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return out.decode()


async def test_what_cannot_be_done_is_told_by_the_simulation(terminal: Terminal) -> None:
    async with terminal.simulation():
        code, out, err = await terminal.inject("--node", "gpu-a100-9", "--gpu", "1", "--lost")
        assert (code, out) == (1, "")
        assert err == (
            "Error: there is no node 'gpu-a100-9' in the simulated cluster; nodes with GPUs: "
            "gpu-a100-1, gpu-h100-1\n"
        )
        code, _, err = await terminal.inject("--node", "gpu-a100-1", "--gpu", "0,2", "--lost")
        assert code == 1
        assert err == "Error: there is no GPU 2 on gpu-a100-1: it has GPUs 0 to 1\n"


async def test_with_no_simulation_it_says_how_to_start_one(terminal: Terminal) -> None:
    code, out, err = await terminal.inject("--node", "gpu-a100-1", "--gpu", "1", "--lost")
    assert (code, out) == (1, "")
    assert err == (
        f"Error: no simulation of yours is running ({terminal.folder} has none)\n"
        "Hint: start one in another terminal: gpupods simulate\n"
    )


async def test_of_two_simulations_one_is_chosen(terminal: Terminal) -> None:
    kubeconfig = terminal.temporary / "config"
    wanted = ("--node", "gpu-a100-1", "--gpu", "1", "--lost")
    async with (
        terminal.simulation() as one,
        terminal.simulation("--kubeconfig", str(kubeconfig)) as other,
    ):
        code, _, err = await terminal.inject(*wanted)
        assert code == 1
        assert "Error: 2 simulations are running: " in err
        assert f"{one.pid} (3 nodes, kubeconfig " in err
        assert f"{other.pid} (3 nodes, kubeconfig {kubeconfig})" in err
        for name in (str(one.pid), str(kubeconfig)):
            code, out, err = await terminal.inject(*wanted, "--simulation", name)
            assert (code, err) == (0, "")
            assert "fallen off the bus" in out
        code, _, err = await terminal.inject(*wanted, "--simulation", "1")
        assert code == 1
        assert "no running simulation is '1'; running: " in err


async def test_what_a_killed_simulation_left_is_none(terminal: Terminal) -> None:
    async with terminal.simulation() as simulation:
        simulation.send_signal(signal.SIGKILL)
        await simulation.communicate()
        assert there(terminal.folder)
        code, _, err = await terminal.inject("--node", "gpu-a100-1", "--gpu", "1", "--lost")
        assert code == 1
        assert "no simulation of yours is running" in err
        assert there(terminal.folder) == []


async def test_a_folder_that_others_may_write_to_is_not_trusted(terminal: Terminal) -> None:
    terminal.folder.mkdir()
    terminal.folder.chmod(0o777)
    code, _, err = await terminal.inject("--node", "gpu-a100-1", "--gpu", "1", "--lost")
    assert code == 1
    assert err == (
        "Error: the simulation cannot be asked: "
        f"{terminal.folder} is not a folder of yours alone: remove it\n"
    )
    process = await terminal.start(*SMALL, *ANYWHERE)
    lines = await lines_until(process, "Ctrl-C ends it.")
    process.terminate()
    await process.communicate()
    assert any("gpupods simulate inject cannot reach this one" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--gpu", "1", "--lost"), "Missing option '--node'"),
        (("--node", "a", "--gpu", "1"), "Say what is to happen"),
        (("--node", "a", "--lost"), "Say to which GPU: --gpu INDEX, or --gpu all."),
        (("--node", "a", "--hang", "--xid", "79"), "Say to which GPU: --gpu INDEX, or --gpu all."),
        (("--node", "\udcff", "--hang"), "control characters, or bytes that are no text"),
        (("--node", "a", "--gpu", "-1", "--lost"), "'-1' is no index of a GPU"),
        (("--node", "a", "--gpu", "1,", "--lost"), "'1,' is no index of a GPU"),
        (("--node", "a", "--gpu", "1", "--recovery-action", "8"), "--recovery-action"),
    ],
)
async def test_a_wrong_command_line(
    terminal: Terminal, arguments: tuple[str, ...], problem: str
) -> None:
    code, out, err = await terminal.inject(*arguments)
    assert (code, out) == (2, "")
    assert problem in err
