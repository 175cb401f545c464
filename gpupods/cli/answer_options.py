"""What the commands that print an answer have in common: its options, and documents of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpupods.cli.durations import Duration
from gpupods.cli.output.stdout import write_answer
from gpupods.client.limits import LONGEST_AGE_S, LONGEST_TIMEOUT_S

if TYPE_CHECKING:
    from google.protobuf.message import Message

OUTPUTS = ("table", "wide", "json", "yaml")
FOR_PEOPLE = "table and wide are for people, json and yaml for programs."

F = TypeVar("F", bound=Callable[..., Any])


def output_option(text: str = FOR_PEOPLE) -> Callable[[F], F]:
    """``-o``."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(OUTPUTS),
        default="table",
        show_default=True,
        help=text,
    )


def timeout_option(default: str, text: str) -> Callable[[F], F]:
    """``--timeout``."""
    return click.option(
        "--timeout",
        type=Duration(at_most_s=LONGEST_TIMEOUT_S),
        default=default,
        show_default=True,
        help=text,
    )


max_age_option = click.option(
    "--max-age",
    type=Duration(zero_allowed=True, at_most_s=LONGEST_AGE_S),
    default="0s",
    show_default=True,
    help="How old a sample of the GPUs may be; 0: a fresh one.",
)

strict_option = click.option(
    "--strict", is_flag=True, help="Exit with 3 if parts of the answer are missing."
)


def write_document(message: Message, output: str) -> bool:
    """Write ``message`` for a program, if ``output`` is for one. Whether it is."""
    if output not in {"json", "yaml"}:
        return False
    from gpupods.cli.output.document import as_json, as_yaml  # noqa: PLC0415 - loads protobuf

    write_answer(as_json(message) if output == "json" else as_yaml(message))
    return True
