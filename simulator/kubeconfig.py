"""The kubeconfig of a simulated cluster, written where the user wants it and removed at the end."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

import yaml

MARK = "# Written by gpupods simulate; removed when it ends.\n"
NAME = "gpupods-simulator"


def kubeconfig_text(url: str) -> str:
    """A kubeconfig with one context, and no credentials: kubectl sends none over plain HTTP."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {"server": url}}],
        "users": [{"name": NAME, "user": {}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
    }
    return MARK + yaml.safe_dump(content, sort_keys=False)


def _refuse_others(path: Path) -> None:
    if path.exists() and not path.read_text(errors="replace").startswith(MARK):
        raise FileExistsError(
            f"{path} exists and was not written by a simulator: name another file, or none"
        )


class KubeconfigFile:
    """A kubeconfig at ``path``, or in a temporary folder if there is none."""

    def __init__(self, path: Path | None) -> None:
        self._wanted = path
        self._folder: Path | None = None
        self._written: Path | None = None
        self._text = ""

    def check(self) -> None:
        """See whether `write` can do it, before there is anything to write.

        Raises:
            FileExistsError: there is one that somebody else has written.
            OSError: it cannot be written.
        """
        path = self._wanted
        if path is None:
            return
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"the kubeconfig {path} cannot be written: there is no folder {path.parent}. "
                "Make it, or name another file"
            )
        _refuse_others(path)

    def write(self, url: str) -> Path:
        """Write the file, for the user alone.

        Raises:
            FileExistsError: there is one that somebody else has written.
            OSError: it cannot be written.
        """
        path = self._wanted or self._temporary()
        _refuse_others(path)
        path.touch(mode=0o600)
        self._text = kubeconfig_text(url)
        path.write_text(self._text)
        self._written = path
        return path

    def remove(self) -> None:
        """Remove what was written, if no later simulator has written there since."""
        if self._written is not None:
            with contextlib.suppress(FileNotFoundError):
                if self._written.read_text(errors="replace") == self._text:
                    self._written.unlink()
            self._written = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _temporary(self) -> Path:
        self._folder = Path(tempfile.mkdtemp(prefix="gpupods-simulate-"))
        return self._folder / "kubeconfig"
