"""The other terminal's end: finds the simulation that is meant, and asks it."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec

from simulator.control.meeting import About, Reply, Request, folder, sockets
from simulator.injection import Injection

LIMIT_S = 10.0


class ControlError(Exception):
    """There is nobody to be asked, or more than one; in words. ``hint`` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def send(injection: Injection, simulation: str = "") -> Reply:
    """Have the running simulation do it.

    Args:
        injection: What is to be done.
        simulation: Which one: its process id, or its kubeconfig; "" is the only one.

    Raises:
        ControlError: there is none, or more than one.
        OSError: it cannot be asked.
    """
    return _ask(_find(simulation), Request(injection))


def _find(simulation: str) -> Path:
    running: dict[Path, About] = {}
    silent: list[str] = []
    for path in sockets():
        try:
            about = _about(path)
        except TimeoutError:  # it was stopped, by Ctrl-Z perhaps
            silent.append(path.stem)
            continue
        if about is not None:
            running[path] = about
    if silent and (not running or simulation in silent):
        raise ControlError(f"the simulation {' and '.join(silent)} does not answer; is it stopped?")
    if not running:
        raise ControlError(
            f"no simulation of yours is running ({folder()} has none)",
            "start one in another terminal: gpupods simulate",
        )
    chosen = [path for path, about in running.items() if _is_meant(about, simulation)]
    if len(chosen) == 1:
        return chosen[0]
    there = "; ".join(str(about) for about in running.values())
    if simulation:
        raise ControlError(f"no running simulation is {simulation!r}; running: {there}")
    raise ControlError(
        f"{len(running)} simulations are running: {there}",
        "choose one: --simulation with its number or its kubeconfig",
    )


def _is_meant(about: About, simulation: str) -> bool:
    if not simulation:
        return True
    if simulation == str(about.pid):
        return True
    return Path(simulation).absolute() == Path(about.kubeconfig).absolute()


def _about(path: Path) -> About | None:
    """Which simulation is there; None where it was killed, and what it left is removed."""
    try:
        return _ask(path, Request()).about
    except ConnectionRefusedError:
        path.unlink(missing_ok=True)
    except FileNotFoundError:
        pass  # it has just ended
    return None


def _ask(path: Path, request: Request) -> Reply:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LIMIT_S)
        connection.connect(str(path))
        connection.sendall(msgspec.json.encode(request) + b"\n")
        with connection.makefile("rb") as answer:
            line = answer.readline()
    try:
        return msgspec.json.decode(line, type=Reply)
    except msgspec.DecodeError as error:
        raise OSError(f"{path}: the simulation ended without an answer") from error
