"""Pods as the API server has them: what they ask for, and what a scheduler has chosen."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER, PREDICATE_TIME
from nodeagent.deviceplugin.pods import GPU_ASSIGNED, LATE, GpuPod, read_pod, read_pods
from tests.pluginbed import Wanted, owning, sharing


def read(pod: Wanted, **annotations: str) -> GpuPod:
    made = pod.object
    made["metadata"]["annotations"] |= annotations
    return read_pod(made)


def test_what_a_scheduler_has_written() -> None:
    pod = read(sharing("one", 5, "3", 1717))
    assert (pod.indexes, pod.problem, pod.predicate_time) == ((3,), "", 1717)
    assert [(ask.container, ask.resource, ask.count) for ask in pod.asks] == [
        ("main", GPU_MEMORY, 5)
    ]


def test_quantities_are_read_as_kubernetes_writes_them() -> None:
    made = sharing("one", 1, "0").object
    made["spec"]["containers"][0]["resources"]["limits"] = {GPU_MEMORY: "8k", "cpu": "500m"}
    assert [ask.count for ask in read_pod(made).asks] == [8000]


@pytest.mark.parametrize("value", ["", "a", "0, 1", "-1", "1.5", "0,,1", "99999999999999999999"])
def test_an_index_that_is_not_understood_is_said_to_be(value: str) -> None:
    pod = read(sharing("one", 5, value))
    assert pod.indexes == ()
    assert GPU_INDEX in pod.problem


@pytest.mark.parametrize("value", ["", "soon", "-3", "1" * 30])
def test_a_time_that_is_not_understood_comes_last(value: str) -> None:
    assert read(sharing("one", 5, "0", None), **{PREDICATE_TIME: value}).predicate_time == LATE
    assert read(sharing("one", 5, "0", None)).predicate_time == LATE


def test_who_is_assigned() -> None:
    assert read(sharing("one", 5, "0"), **{GPU_ASSIGNED: "true"}).assigned
    assert not read(sharing("one", 5, "0"), **{GPU_ASSIGNED: "false"}).assigned
    assert not read(sharing("one", 5, "0")).assigned


def test_those_that_ask_for_no_gpu_or_are_being_deleted_are_left_out() -> None:
    leaving = sharing("leaving", 5, "0").object
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    nothing = Wanted("nothing", {"main": {}}, None).object
    zero = sharing("zero", 0, None).object
    stays = sharing("stays", 5, "0").object
    assert [str(pod.ref) for pod in read_pods([leaving, nothing, zero, stays])] == ["team/stays"]


def test_containers_have_gpus_of_their_own_and_init_containers_use_them_before() -> None:
    limits = {name: {GPU_NUMBER: 1} for name in ("early", "sidecar", "late", "one")}
    pod = Wanted(
        "many", limits | {"two": {GPU_NUMBER: 2}}, "0,1,2,3", init=("early", "late"),
        sidecars=("sidecar",),
    )  # fmt: skip
    asks = read(pod).asks
    assert [(ask.container, ask.first) for ask in asks] == [
        ("early", 0),
        ("sidecar", 0),
        ("late", 1),
        ("one", 1),
        ("two", 2),
    ]


def test_each_resource_is_asked_for_by_itself() -> None:
    pod = Wanted("both", {"a": {GPU_NUMBER: 1, GPU_MEMORY: 2}, "b": {GPU_NUMBER: 1}}, "0,1")
    asks = [(ask.resource, ask.container, ask.first) for ask in read(pod).asks]
    assert asks == [(GPU_MEMORY, "a", 0), (GPU_NUMBER, "a", 0), (GPU_NUMBER, "b", 1)]


def test_a_limit_that_is_no_quantity_is_an_error() -> None:
    made = owning("one", 1, "0").object
    made["spec"]["containers"][0]["resources"]["limits"] = {GPU_NUMBER: "many"}
    with pytest.raises(ValueError, match="no quantity"):
        read_pods([made])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), JSON))
def test_nothing_but_a_value_error_comes_of_what_is_no_pod(item: dict[str, Any]) -> None:
    try:
        read_pods([item])
    except ValueError:
        return
