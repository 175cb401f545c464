"""What holds of the cgroup reader for every text, and for every container in every shape."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from nodeagent.containers.cgroup import read_cgroup

HEX = "0123456789abcdef"
container_ids = st.text(HEX, min_size=64, max_size=64)
uids = st.uuids().map(str) | st.text(HEX, min_size=32, max_size=32)

IN_POD = (
    "/kubepods/pod{uid}/{id}",
    "/kubepods/burstable/pod{uid}/{id}",
    "/kubepods/besteffort/pod{uid}/crio-{id}",
    "/kubepods.slice/kubepods-pod{uid_}.slice/cri-containerd-{id}.scope",
    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid_}.slice/crio-{id}.scope",
    "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{uid_}.slice/docker-{id}.scope",
    "/system.slice/containerd.service/kubepods-burstable-pod{uid_}.slice:cri-containerd:{id}",
)
ALONE = (
    "/docker/{id}",
    "/system.slice/docker-{id}.scope",
    "/machine.slice/libpod-{id}.scope",
    "/k8s.io/{id}",
)
BEFORE = ("", "/..", "/../../..", "/gpu-nodes", "/kubelet.slice")
BEHIND = ("", "/container", "/init.scope", "/system.slice/worker.service")

lines = st.builds(
    "{}:{}:{}".format,
    st.integers(0, 13),
    st.sampled_from(("", "cpu,cpuacct", "name=systemd", "pids")),
    st.text(st.characters(blacklist_characters="\n")) | st.sampled_from(("/", "/..", "/a:b")),
)
pieces = st.sampled_from(
    ("0::", "/", "..", "\n", ":", "kubepods", "pod", ".slice", ".scope", "-", "a" * 64, "crio-")
)
texts = st.text() | st.lists(lines).map("\n".join) | st.lists(pieces).map("".join)


def filled(shape: str, uid: str, container_id: str) -> str:
    return shape.format(uid=uid, uid_=uid.replace("-", "_"), id=container_id)


@given(texts)
def test_any_text_is_read(text: str) -> None:
    reading = read_cgroup(text)
    for candidate in reading.candidates:
        assert re.fullmatch("[0-9a-f]{64}", candidate.id)
        assert candidate.id in text
    assert not (reading.is_host and reading.candidates)
    assert (reading.likeliest is None) == (not reading.candidates)
    assert reading.path in text


@given(
    st.sampled_from(BEFORE), st.sampled_from(IN_POD), st.sampled_from(BEHIND), uids, container_ids
)
def test_container_of_a_pod_is_found_in_every_shape(
    before: str, shape: str, behind: str, uid: str, container_id: str
) -> None:
    reading = read_cgroup(f"0::{before}{filled(shape, uid, container_id)}{behind}\n")
    assert [candidate.id for candidate in reading.candidates] == [container_id]
    assert (reading.pod_uid, reading.is_host) == (uid, False)


@given(
    st.lists(
        st.tuples(st.sampled_from(IN_POD + ALONE), uids, container_ids), min_size=1, max_size=4
    )
)
def test_nested_containers_come_innermost_first(nest: list[tuple[str, str, str]]) -> None:
    reading = read_cgroup("0::" + "".join(filled(*each) for each in nest))
    assert [candidate.id for candidate in reading.candidates] == [each[2] for each in nest[::-1]]


@given(
    st.sampled_from(IN_POD + ALONE),
    uids,
    container_ids,
    st.permutations(["/", "/", "/system.slice/containerd.service", "/../.."]),
    st.integers(0, 4),
)
def test_one_line_that_names_the_container_is_enough(
    shape: str, uid: str, container_id: str, others: list[str], position: int
) -> None:
    paths = [*others[:position], filled(shape, uid, container_id), *others[position:]]
    text = "".join(f"{number}:c{number}:{path}\n" for number, path in enumerate(paths))
    assert [candidate.id for candidate in read_cgroup(text).candidates] == [container_id]


@given(st.text(HEX, min_size=1, max_size=130).filter(lambda text: len(text) != 64))
def test_hex_of_another_length_is_no_container(text: str) -> None:
    assert read_cgroup(f"0::/system.slice/run-{text}.scope").is_host
