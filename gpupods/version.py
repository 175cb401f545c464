"""The package's own version, as installed."""

from __future__ import annotations

from importlib.metadata import version

VERSION = version("gpupods")
