"""The API server refuses what a port-forward needs, or there is no controller to forward to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpupods.cli.__main__ import run
from gpupods.cli.exit_codes import ExitCode
from tests.unit.gpupods.kube_api_double import KubeApiDouble, pod

READY = pod("controller-0", ports={"grpc": 50050})
NOBODY = 1


def forbid_lists() -> KubeApiDouble:
    return KubeApiDouble(NOBODY, [READY], refuse_lists=403)


def forbid_forwards() -> KubeApiDouble:
    return KubeApiDouble(NOBODY, [READY], refuse_forwards=403)


def fail_forwards() -> KubeApiDouble:
    return KubeApiDouble(NOBODY, [READY], refuse_forwards=500)


def no_controller() -> KubeApiDouble:
    return KubeApiDouble(NOBODY, [])


def none_ready() -> KubeApiDouble:
    return KubeApiDouble(NOBODY, [pod("controller-0", ready=False)])


def other_ports() -> KubeApiDouble:
    return KubeApiDouble(NOBODY, [pod("controller-0", ports={"http": 8080})])


@pytest.mark.parametrize(
    ("make", "code", "problem", "hint"),
    [
        (
            forbid_lists,
            ExitCode.REFUSED,
            "the Kubernetes API server refuses: pods is forbidden: User cannot list",
            "to get and create pods/portforward, in namespace 'gpupods-system'",
        ),
        (
            forbid_forwards,
            ExitCode.REFUSED,
            "the Kubernetes API server refuses: pods/portforward is forbidden: User cannot",
            "to get and create pods/portforward, in namespace 'gpupods-system'",
        ),
        (
            fail_forwards,
            ExitCode.NO_ANSWER,
            "the Kubernetes API server did not open the port-forward: pods/portforward is",
            "",
        ),
        (
            no_controller,
            ExitCode.REFUSED,
            "the cluster has no controller: no pod is labelled app.kubernetes.io/name=gpupods,",
            "--controller-namespace and --controller-selector look elsewhere",
        ),
        (
            none_ready,
            ExitCode.NO_ANSWER,
            "no controller is ready: controller-0 (Pending)",
            "kubectl describe pod -n gpupods-system controller-0 tells why",
        ),
        (
            other_ports,
            ExitCode.REFUSED,
            "pod controller-0 has no port named grpc; it has http 8080",
            "--controller-port",
        ),
    ],
)
def test_what_was_refused_is_said(
    make: Callable[[], KubeApiDouble],
    code: ExitCode,
    problem: str,
    hint: str,
    *,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with make().serving(tmp_path) as kubeconfig:
        assert run(["get", "x", "--kubeconfig", str(kubeconfig)], "gpupods") == code
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.startswith(f"Error: {problem}")
    assert hint in "".join(rest)
    assert len(rest) == bool(hint)
