"""Settings from flags, environment and defaults; a wrong one is one line and code 2."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from gpupods.addresses import HostPort
from gpupods.settings import check_positive, read_settings, setting


class Shape(enum.Enum):
    ROUND = "round"
    SQUARE = "square"


@dataclass(frozen=True, slots=True)
class Settings:
    listen: HostPort = setting(HostPort("::", 80), "Where to serve.")
    shape: Shape = setting(Shape.ROUND, "Which shape.")
    wait_limit: float = setting(1.5, "Seconds to wait.")
    count: int = setting(3, "How many.")
    name: str = setting("", "Who.")
    loud: bool = setting(default=False, text="Whether to shout.")

    def __post_init__(self) -> None:
        check_positive("wait-limit", self.wait_limit)


def read(arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Settings:
    return read_settings(
        Settings,
        program="demo",
        about="Shows.",
        environment_prefix="DEMO_",
        arguments=list(arguments),
        environment=environment or {},
    )


def test_defaults() -> None:
    assert read() == Settings()


def test_flags() -> None:
    arguments = "--listen 127.0.0.1:0 --shape square --wait-limit 2 --count 4 --name x --loud"
    expected = Settings(HostPort("127.0.0.1", 0), Shape.SQUARE, 2.0, 4, "x", loud=True)
    assert read(arguments.split()) == expected


def test_a_text_s_variable_that_is_empty_is_no_default(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True, slots=True)
    class Watching:
        log: str = setting("/dev/kmsg", "Where to read; empty: nowhere.")

    def watching() -> Watching:
        return read_settings(
            Watching, program="demo", about="", environment_prefix="DEMO_", arguments=[]
        )

    assert watching().log == "/dev/kmsg"
    monkeypatch.setenv("DEMO_LOG", "")
    assert watching().log == ""


def test_environment_below_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_COUNT", "7")
    monkeypatch.setenv("DEMO_SHAPE", "square")
    assert read() == Settings(count=7, shape=Shape.SQUARE)
    assert read(["--count", "8"]).count == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--listen", "80"], "'80' has no port"),
        (["--shape", "flat"], "'flat' is not one of 'round', 'square'"),
        (["--wait-limit", "0"], "--wait-limit is 0: write seconds"),
        (["--wait-limit", "nan"], "--wait-limit is nan"),
        (["--count", "many"], "'many' is not a valid integer"),
        (["--cuont", "1"], "No such option"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_a_wrong_setting_is_one_line_and_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read(arguments)
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("demo: ")
    assert err.count("\n") == 1
    assert words in err


def test_a_misspelt_variable_is_not_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read(environment={"DEMO_CUONT": "1"})
    assert ended.value.code == 2
    assert "DEMO_CUONT is not a setting; those that are: DEMO_COUNT" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_end_with_code_0(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read([flag])
    assert ended.value.code == 0
    assert "demo" in capsys.readouterr().out


def test_help_names_every_flag_its_variable_and_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        read(["--help"])
    shown = capsys.readouterr().out
    for part in ("--listen HOST:PORT", "DEMO_LISTEN", "[::]:80", "DEMO_WAIT_LIMIT", "round"):
        assert part in shown
