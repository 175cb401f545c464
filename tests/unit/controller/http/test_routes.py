from __future__ import annotations

import itertools

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import ServiceDescriptor

from controller.http.routes import AnnotationError, Match, Router, service_routes
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.unit.controller.http import kinds

GPU_PODS = pb.DESCRIPTOR.services_by_name["GpuPodsService"]
_numbers = itertools.count()


def find(http_method: str, path: str) -> Match:
    match = Router([GPU_PODS, kinds.SERVICE]).find(http_method, path)
    assert match is not None
    return match


def test_the_contract_has_its_route() -> None:
    route = find("GET", "/gpu-pods").route
    assert route.grpc_path == "/gpupods.v1alpha1.GpuPodsService/GetGpuPods"
    assert route.takes_query
    assert route.bound_paths == ()


def test_additional_bindings_bind_path_and_body() -> None:
    match = find("PUT", "/v1/words/a")
    assert match.variables == {"text": "a"}
    assert match.route.body == "words"
    assert match.route.bound_paths == (("words",), ("text",))
    assert find("POST", "/v1/echo").route.takes_query is False
    assert find("GET", "/v1/words").route.response_body == "words"
    assert find("LOCK", "/v1/things/x").route.method.name == "Echo"


def test_of_two_that_match_the_later_is_taken() -> None:
    assert find("GET", "/v1/deep/first").route.method.name == "Shadow"
    assert find("GET", "/v1/deep/second").route.method.name == "Pattern"


def test_a_path_that_only_another_method_has() -> None:
    router = Router([GPU_PODS])
    assert router.find("POST", "/gpu-pods") is None
    assert router.knows("/gpu-pods")
    assert not router.knows("/gpu-pods/")


def test_a_method_without_an_annotation_has_no_route() -> None:
    assert "Hidden" not in {route.method.name for route in service_routes(kinds.SERVICE)}


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ('get: "/a" body: "*"', "GET has no body"),
        ('delete: "/a" body: "*"', "DELETE has no body"),
        ('get: "a"', "starts with /"),
        ('get: "/{missing}"', "has no field 'missing'"),
        ('get: "/{text.a}"', "no message of its own"),
        ('get: "/{items.text}"', "no message of its own"),
        ('post: "/a" body: "missing"', "has no field 'missing'"),
        ('get: "/a" response_body: "missing"', "has no field 'missing'"),
    ],
)
def test_an_annotation_that_cannot_be_served_is_named(rule: str, says: str) -> None:
    service = _service(f"rpc Do(M) returns (M) {{ option (google.api.http) = {{ {rule} }}; }}")
    with pytest.raises(AnnotationError, match=rf"google.api.http of .*Do: .*{says}"):
        Router([service])


def test_a_stream_of_requests_is_refused() -> None:
    service = _service(
        'rpc Do(stream M) returns (M) { option (google.api.http) = {post: "/a" body: "*"}; }'
    )
    with pytest.raises(AnnotationError, match="stream of requests"):
        Router([service])


def test_an_annotation_without_a_pattern_makes_no_route() -> None:
    service = _service("rpc Do(M) returns (M) { option (google.api.http) = {}; }")
    assert list(service_routes(service)) == []


def _service(methods: str) -> ServiceDescriptor:
    package = f"gpupods.testing.routes{next(_numbers)}"
    source = f"""
        syntax = "proto3";
        package {package};
        import "google/api/annotations.proto";
        message M {{ string text = 1; repeated M items = 2; }}
        service S {{ {methods} }}
    """
    kinds.add_to_pool(kinds.compile_proto(source, f"{package}.proto"))
    return descriptor_pool.Default().FindServiceByName(f"{package}.S")
