"""Settings of a server, declared once as a frozen dataclass.

Flags, environment variables, ``--help`` and the table in the documentation are all made from
that declaration. Reading a wrong value ends the program with one line and exit code 2.
"""

from __future__ import annotations

import dataclasses
import enum
import os
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import click

from gpupods.addresses import HostPort, parse_host_port
from gpupods.version import VERSION

T = TypeVar("T")

EXIT_WRONG_SETTING = 2


def setting(default: T, text: str, *, metavar: str | None = None) -> T:
    """Declare one field: its default, and the line that ``--help`` shows."""
    metadata = {"help": text, "metavar": metavar}
    return dataclasses.field(default=default, metadata=metadata)


class SettingType(click.ParamType[Any]):
    """Reads one flag's text as the field's type, by that type's own reader."""

    def __init__(self, name: str, read: Callable[[str], object]) -> None:
        self.name = name
        self._read = read

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Read ``value``; what the reader has to say of it becomes the error line."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class TextOption(click.Option):
    """An option whose variable counts when it is set to nothing, as the flag does."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """The variable's value; None if it is not set. click takes an empty one for that."""
        del ctx
        return os.environ.get(str(self.envvar))


def command_options(settings: type[Any], environment_prefix: str) -> list[click.Option]:
    """One click option for each field of ``settings``."""
    hints = typing.get_type_hints(settings)
    return [
        _option(field, hints[field.name], environment_prefix)
        for field in dataclasses.fields(settings)
    ]


def _option(field: dataclasses.Field[Any], hint: object, prefix: str) -> click.Option:
    flag = "--" + field.name.replace("_", "-")
    declaration = f"{flag}/--no-{flag[2:]}" if hint is bool else flag
    default = field.default.value if isinstance(field.default, enum.Enum) else field.default
    kind = TextOption if hint is str else click.Option
    return kind(
        [declaration, field.name],
        type=None if hint is bool else _click_type(hint),
        default=default,
        show_default=str(default) or "none",
        envvar=prefix + field.name.upper(),
        show_envvar=True,
        help=field.metadata["help"],
        metavar=field.metadata["metavar"],
    )


def _click_type(hint: Any) -> click.ParamType[Any]:
    if hint is HostPort:
        return SettingType("HOST:PORT", parse_host_port)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return click.Choice([member.value for member in hint])
    plain: dict[Any, click.ParamType[Any]] = {
        int: click.INT,
        float: click.FLOAT,
        str: click.STRING,
    }
    return plain[hint]


def read_settings(
    settings: type[T],
    *,
    program: str,
    about: str,
    environment_prefix: str,
    arguments: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> T:
    """Read ``settings`` from flags, then environment, then defaults.

    A wrong value, and a variable with the prefix that names no setting, end the program with
    one line on stderr and code 2; ``--help`` and ``--version`` with code 0. The dataclass may
    check values together in ``__post_init__`` by raising ValueError.
    """
    values: dict[str, object] = {}
    hints = typing.get_type_hints(settings)
    options: list[click.Parameter] = list(command_options(settings, environment_prefix))
    options.append(_version_option(program))
    command = click.Command(
        program, params=options, callback=lambda **given: values.update(given), help=about
    )
    command.context_settings["max_content_width"] = 100
    try:
        _refuse_unknown_variables(environment or os.environ, environment_prefix, set(hints))
        if command.main(arguments, prog_name=program, standalone_mode=False) is not None:
            sys.exit(0)  # --help or --version has printed
        return settings(**{name: _typed(hints[name], value) for name, value in values.items()})
    except click.ClickException as error:
        fail_startup(program, error.format_message())
    except ValueError as error:
        fail_startup(program, str(error))


def _version_option(program: str) -> click.Option:
    def show(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001
        if wanted:
            click.echo(f"{program} {VERSION}")
            context.exit()

    return click.Option(
        ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=show,
        help="Show the version and exit.",
    )  # fmt: skip


def _typed(hint: object, value: object) -> object:
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    return value


def _refuse_unknown_variables(
    environment: Mapping[str, str], prefix: str, fields: set[str]
) -> None:
    for name in environment:
        if name.startswith(prefix) and name[len(prefix) :].lower() not in fields:
            known = ", ".join(sorted(prefix + field.upper() for field in fields))
            raise ValueError(f"{name} is not a setting; those that are: {known}")


def fail_startup(program: str, problem: str) -> NoReturn:
    """Say in one line why ``program`` cannot start, and exit with code 2."""
    sys.stderr.write(f"{program}: {' '.join(problem.split())}\n")
    sys.exit(EXIT_WRONG_SETTING)


def check_positive(flag: str, seconds: float, at_most: float = 3600.0) -> None:
    """Refuse a time that is zero, negative, not a number, or longer than an hour.

    Raises:
        ValueError: it is.
    """
    if not 0 < seconds <= at_most:
        raise ValueError(f"--{flag} is {seconds:g}: write seconds, above 0 and up to {at_most:g}")
