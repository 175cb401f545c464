"""Logging of the servers: structlog, as JSON where machines read and in colour where people do.

Logs go to stderr; stdout belongs to a program's answer. Request contents are never logged
whole: `shorten` keeps what a reader needs of them.
"""

from __future__ import annotations

import enum
import logging
import sys

import structlog

SHORT = 80


class LogFormat(enum.Enum):
    """How a line looks."""

    AUTO = "auto"
    JSON = "json"
    CONSOLE = "console"


class LogLevel(enum.Enum):
    """The least that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def configure_logs(log_format: LogFormat, level: LogLevel) -> None:
    """Set up structlog for this process. AUTO is console on a terminal, else JSON."""
    console = log_format is LogFormat.CONSOLE or (
        log_format is LogFormat.AUTO and sys.stderr.isatty()
    )
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        if console
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.value.upper()]
        ),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


def shorten(text: str, limit: int = SHORT) -> str:
    """``text`` safe to show: control characters escaped, at most ``limit`` characters of it."""
    shown = text[:limit].encode("unicode_escape").decode("ascii") if not text.isprintable() else (
        text[:limit]
    )  # fmt: skip
    return shown if len(text) <= limit else f"{shown}... ({len(text)} characters)"
