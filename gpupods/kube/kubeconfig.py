"""Where the API server's address and credentials come from, read by the `kubernetes` package.

Everything here blocks: it reads files and may run a credential plugin. `kubernetes` is imported
when it is first needed, as it costs some 20 MB.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from gpupods.kube.service_account import InCluster

Configuration: TypeAlias = Any
"""kubernetes.client.Configuration, which has no types."""

TOKEN_KEYS = ("BearerToken", "authorization")
"""Under which `kubernetes` keeps the Authorization header: since 36, and before."""

DEFAULT_KUBECONFIG = "~/.kube/config"


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Files as kubectl reads them.

    Attributes:
        paths: One or several, as in KUBECONFIG, separated as in PATH.
        context: "" is the file's current one.
    """

    paths: str
    context: str = ""

    def __str__(self) -> str:
        """For messages."""
        return f"kubeconfig {self.paths}" + (f", context {self.context}" if self.context else "")

    def load(self, into: Configuration | None = None) -> Configuration:
        """Read them, run a credential plugin if they name one. Raises ValueError.

        ``into`` is what to fill, else one that knows no proxy but the files' own.
        """
        from kubernetes.config import ConfigException  # noqa: PLC0415
        from yaml import YAMLError  # noqa: PLC0415

        self._check_existence()
        try:
            return self._load(_blank() if into is None else into)
        except ConfigException as error:
            raise ValueError(f"{self}: {error}") from error
        except YAMLError as error:
            raise ValueError(f"{self}: not YAML: {' '.join(str(error).split())}") from error
        except OSError as error:
            raise ValueError(f"{self}: {error}") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            if type(error) is ValueError and str(error).startswith(str(self)):
                raise
            raise ValueError(
                f"{self}: not a kubeconfig ({type(error).__name__}: {error}):"
                " does `kubectl config view` read it?"
            ) from error

    def _check_existence(self) -> None:
        """`kubernetes` passes over missing files, and then reports an empty configuration."""
        paths = [path for path in self.paths.split(os.pathsep) if path]
        if not any(Path(path).expanduser().exists() for path in paths):
            raise ValueError(f"{self}: no such file. Name one that exists, or set KUBECONFIG")

    def _load(self, configuration: Configuration) -> Configuration:
        from kubernetes.config import kube_config  # noqa: PLC0415

        merger = kube_config.KubeConfigMerger(self.paths)
        merged = merger.config
        if merged is None:
            raise ValueError(f"{self}: the file is empty")
        self._check_context(merged)
        loader = kube_config.KubeConfigLoader(
            merged,
            active_context=self.context or None,
            config_base_path=None,  # paths in a file are relative to that file
            config_persister=merger.save_changes,
        )
        with _errors_logged() as complaints:
            loader.load_and_set(configuration)
        if not (token_of(configuration) or configuration.cert_file):
            _check_plugin(str(self), merged, loader.current_context, complaints)
        return configuration

    def _check_context(self, merged: Any) -> None:
        wanted = self.context or merged.safe_get("current-context")
        names = [context["name"] for context in merged["contexts"].value]
        if not wanted:
            raise ValueError(f"{self}: no current context. Choose one of {', '.join(names)}")
        if wanted not in names:
            raise ValueError(
                f"{self}: no context {wanted!r}. It has {', '.join(names) or 'none at all'}"
            )


def _check_plugin(source: str, merged: Any, context: Any, complaints: list[str]) -> None:
    """A plugin that fails is only logged by `kubernetes`, which goes on without credentials."""
    name = context["context"].get("user")
    user = merged["users"].get_with_name(name, safe=True) if name else None
    if user is None or "exec" not in user["user"]:
        return
    command = user["user"]["exec"]["command"]
    why = "; ".join(complaints) or "it printed neither a token nor a certificate"
    raise ValueError(f"{source}: the credential plugin {command!r} gave nothing: {why}")


def source_of_access(kubeconfig: str, context: str) -> InCluster | Kubeconfig:
    """Where to look, as kubectl does: the file that is named, KUBECONFIG, ~/.kube/config.

    Where none of them is there, the pod's own files.

    Raises:
        ValueError: there is nowhere to look.
    """
    named = kubeconfig or os.environ.get("KUBECONFIG", "")
    if named or context or Path(DEFAULT_KUBECONFIG).expanduser().exists():
        return Kubeconfig(named or DEFAULT_KUBECONFIG, context)
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return InCluster()
    raise ValueError(
        f"no way to the Kubernetes API: KUBECONFIG is not set, {DEFAULT_KUBECONFIG} does not"
        " exist, and this is not a pod. Name a kubeconfig file"
    )


def token_of(configuration: Configuration) -> str:
    """The value for the Authorization header, "" for none.

    Where the token can rotate this runs `kubernetes`' refresh hook, which reads files again and
    runs plugins.
    """
    token = configuration.get_api_key_with_prefix(*TOKEN_KEYS)
    return " ".join(token.split()) if token else ""  # files end in newlines


def _blank() -> Configuration:
    """Without the proxy of the environment: only a kubeconfig's own proxy-url counts."""
    from kubernetes.client import Configuration as Blank  # noqa: PLC0415

    return Blank(proxy="", no_proxy="")


@contextlib.contextmanager
def _errors_logged() -> Iterator[list[str]]:
    """What this thread logs as errors to the root logger, which is how `kubernetes` reports."""
    complaints: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == threading.get_ident() and record.levelno >= logging.ERROR:
                complaints.append(" ".join(record.getMessage().split()))

    listener = Listener()
    logging.getLogger().addHandler(listener)
    try:
        yield complaints
    finally:
        logging.getLogger().removeHandler(listener)
