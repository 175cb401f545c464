"""Whose container a process is in, decided from facts alone."""

from __future__ import annotations

import pytest

from gpupods.identity import ContainerId, Pid
from nodeagent.containers.cgroup import read_cgroup
from nodeagent.containers.decide import (
    Evidence,
    Owner,
    by_cgroup,
    by_search,
    ended,
    hidden,
)
from nodeagent.containers.identity import IdentifiedProcess, Unattributed
from nodeagent.containers.runtime import RuntimeContainer
from nodeagent.gpus.sample import Missing, MissingKind, Moment
from nodeagent.processes.table import ProcessFacts

PID = Pid(4242)
A, B = ContainerId("a" * 64), ContainerId("b" * 64)
POD = "pod11111111-2222-3333-4444-555555555555"
SAMPLED = Moment(wall=1_800_000_000.0, boot=5000.0)


def evidence(path: str | None, start_boot_s: float = 1000.0) -> Evidence:
    text = None if path is None else f"0::{path}\n"
    return Evidence(ProcessFacts(PID, "python", start_boot_s, text), read_cgroup(text))


def known(*containers: ContainerId) -> dict[ContainerId, RuntimeContainer]:
    return {each: RuntimeContainer(each) for each in containers}


def in_container(container: ContainerId) -> IdentifiedProcess:
    return IdentifiedProcess(PID, "python", 1000.0, container)


def without(reason: Unattributed, detail: str) -> IdentifiedProcess:
    return IdentifiedProcess(PID, "python", 1000.0, None, reason, detail)


@pytest.mark.parametrize("later_s", [-4000.0, -0.01, 0.0, 0.01])
def test_process_from_before_the_sample_lives(later_s: float) -> None:
    facts = ProcessFacts(PID, "python", SAMPLED.boot + later_s, "")
    assert ended(PID, facts, SAMPLED) is None


@pytest.mark.parametrize("later_s", [0.02, 0.5, 1e6])
def test_process_from_after_the_sample_is_another(later_s: float) -> None:
    end = ended(PID, ProcessFacts(PID, "bash", SAMPLED.boot + later_s, ""), SAMPLED)
    assert end is not None
    assert (end.reason, end.container) == (Unattributed.PID_REUSED, None)
    # Neither is of the process that was on the GPU.
    assert (end.name, end.start_boot_s) == ("", None)
    assert "bash" in end.detail


def test_no_process_has_exited() -> None:
    end = ended(PID, None, SAMPLED)
    assert end is not None
    assert end.reason is Unattributed.PROCESS_EXITED


def test_the_known_container_of_the_path() -> None:
    path = f"/kubepods/burstable/{POD}/{A}"
    assert by_cgroup(evidence(path), known(A, B), whole=True) == in_container(A)


@pytest.mark.parametrize(
    ("runtime_knows", "owner"), [(known(A), A), (known(B), B), (known(A, B), B)]
)
def test_the_last_known_container_of_the_path(
    runtime_knows: dict[ContainerId, RuntimeContainer], owner: ContainerId
) -> None:
    path = f"/docker/{A}/kubelet/kubepods/{POD}/{B}"
    assert by_cgroup(evidence(path), runtime_knows, whole=True) == in_container(owner)


def test_container_inside_a_container_belongs_to_the_outer_one_that_is_known() -> None:
    path = f"/kubepods/burstable/{POD}/{A}/docker/{B}"
    assert by_cgroup(evidence(path), known(A), whole=True) == in_container(A)
    assert by_cgroup(evidence(path), {}, whole=False) == in_container(A)


def test_container_that_is_not_known_is_another_runtimes() -> None:
    path = f"/system.slice/docker-{A}.scope"
    assert by_cgroup(evidence(path), known(B), whole=True) == without(
        Unattributed.OTHER_RUNTIME, f"container {A[:12]} of Docker; cgroup {path}"
    )


def test_container_of_a_pod_is_believed_in_when_the_list_may_lack_it() -> None:
    path = f"/kubepods/burstable/{POD}/{A}"
    assert by_cgroup(evidence(path), known(B), whole=False) == in_container(A)


def test_container_of_no_pod_is_not_kubernetes_even_without_a_list() -> None:
    process = by_cgroup(evidence(f"/docker/{A}"), {}, whole=False)
    assert process is not None
    assert process.reason is Unattributed.OTHER_RUNTIME


def test_docker_as_the_kubelets_runtime_is_believed_in() -> None:
    path = f"/kubepods.slice/kubepods-{POD.replace('-', '_')}.slice/docker-{A}.scope"
    assert by_cgroup(evidence(path), {}, whole=False) == in_container(A)


def test_host_process() -> None:
    assert by_cgroup(evidence("/system.slice/sshd.service"), known(A), whole=True) == without(
        Unattributed.HOST_PROCESS, "cgroup /system.slice/sshd.service"
    )


@pytest.mark.parametrize("path", ["/", "/..", "/../../..", f"/kubepods/{POD}", None])
def test_cgroup_that_does_not_tell(path: str | None) -> None:
    assert by_cgroup(evidence(path), known(A), whole=True) is None


def test_owner_that_a_search_found() -> None:
    assert by_search(evidence("/"), Owner(A)) == in_container(A)


def test_process_in_none_of_the_containers() -> None:
    assert by_search(evidence("/"), Owner(None)) == without(
        Unattributed.HOST_PROCESS, "cgroup /; in none of the runtime's containers"
    )


def test_process_in_none_of_the_containers_but_in_anothers() -> None:
    process = by_search(evidence(f"/machine.slice/libpod-{A}.scope"), Owner(None))
    assert process.reason is Unattributed.OTHER_RUNTIME
    assert "Podman" in process.detail


def test_process_that_may_be_in_a_container_which_did_not_tell() -> None:
    missing = Missing(MissingKind.CONTAINER, A, "no answer in 1 s")
    assert by_search(evidence(None), Owner(None, (missing,))) == without(
        Unattributed.UNDETERMINED, "its cgroup cannot be read; no answer in 1 s"
    )


def test_no_process_at_all_is_a_matter_of_the_agents_pid_namespace() -> None:
    identification = hidden([Pid(1), Pid(2)])
    reasons = {pid: each.reason for pid, each in identification.processes.items()}
    assert reasons == dict.fromkeys((1, 2), Unattributed.UNDETERMINED)
    (missing,) = identification.missing
    assert (missing.kind, missing.subject) == (MissingKind.PROCESS, "")
    assert "none of the 2 pids" in missing.reason
    assert "hostPID: true" in missing.reason


def test_key_is_another_for_another_process_or_cgroup() -> None:
    first = evidence("/a").key
    assert evidence("/a").key == first
    assert evidence("/b").key != first
    assert evidence("/a", start_boot_s=1000.01).key != first
