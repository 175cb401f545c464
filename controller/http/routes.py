"""From service descriptors to routes: what the google.api.http annotations ask for.

A route knows which gRPC method it calls, what of the request comes from the path and the body,
and what of the answer is shown. Reading the values is `query`'s, calling is `server`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from google.api import annotations_pb2, http_pb2
from google.protobuf.descriptor import (
    Descriptor,
    FieldDescriptor,
    MethodDescriptor,
    ServiceDescriptor,
)

from controller.http.path_template import PathTemplate, parse_path_template

WHOLE_BODY = "*"


class AnnotationError(ValueError):
    """A method's annotation cannot be served; the message names the method and says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """One binding of one method.

    ``body`` and ``response_body`` are a field's name, "*" or "" as in the annotation.
    """

    http_method: str
    template: PathTemplate
    method: MethodDescriptor
    body: str
    response_body: str

    @property
    def grpc_path(self) -> str:
        """As gRPC calls it: ``/package.Service/Method``."""
        return f"/{self.method.containing_service.full_name}/{self.method.name}"

    @property
    def bound_paths(self) -> tuple[tuple[str, ...], ...]:
        """The field paths that path and body fill, so that the query may not."""
        paths = [self.body] if self.body else []
        paths += [variable.field_path for variable in self.template.variables]
        return tuple(tuple(path.split(".")) for path in paths)

    @property
    def takes_query(self) -> bool:
        """Whether a field of the request is left for query parameters to fill."""
        if self.body == WHOLE_BODY:
            return False
        bound = {self.body} | {variable.field_path for variable in self.template.variables}
        return any(field.name not in bound for field in self.method.input_type.fields)


@dataclass(frozen=True, slots=True)
class Match:
    """A route, and the values that its path variables have in this request."""

    route: Route
    variables: Mapping[str, str]


class Router:
    """All routes of some services, by HTTP method; of two that match the later one is taken."""

    def __init__(self, services: Iterable[ServiceDescriptor]) -> None:
        self._routes: dict[str, list[Route]] = {}
        for service in services:
            for route in service_routes(service):
                self._routes.setdefault(route.http_method, []).insert(0, route)

    def routes(self) -> Iterator[Route]:
        """Every route there is."""
        for routes in self._routes.values():
            yield from routes

    def find(self, http_method: str, path: str) -> Match | None:
        """The route for an unescaped ``path``, which starts with a slash."""
        components = path[1:].split("/")
        for route in self._routes.get(http_method, ()):
            variables = route.template.match(components)
            if variables is not None:
                return Match(route, variables)
        return None

    def knows(self, path: str) -> bool:
        """Whether any HTTP method has a route for ``path``."""
        return any(self.find(http_method, path) for http_method in self._routes)


def service_routes(service: ServiceDescriptor) -> Iterator[Route]:
    """The routes of every annotated method of ``service``, in the proto's order.

    Raises:
        AnnotationError: an annotation cannot be served.
    """
    for method in service.methods:
        for rule in _rules(method):
            try:
                route = _route(method, rule)
            except ValueError as error:
                raise AnnotationError(f"google.api.http of {method.full_name}: {error}") from None
            if route is not None:
                yield route


def _rules(method: MethodDescriptor) -> Sequence[http_pb2.HttpRule]:
    options = method.GetOptions()
    if not options.HasExtension(annotations_pb2.http):
        return ()
    rule = options.Extensions[annotations_pb2.http]
    return (rule, *rule.additional_bindings)


def _route(method: MethodDescriptor, rule: http_pb2.HttpRule) -> Route | None:
    kind = rule.WhichOneof("pattern")
    if kind is None:
        return None
    if kind == "custom":
        http_method, path = rule.custom.kind, rule.custom.path
    else:
        http_method, path = kind.upper(), getattr(rule, kind)
    if http_method in ("GET", "DELETE") and rule.body:
        raise ValueError(f"{http_method} has no body, and the annotation maps one")
    if method.client_streaming:
        raise ValueError("a stream of requests is not served over HTTP")
    response_body = "" if rule.response_body == WHOLE_BODY else rule.response_body
    route = Route(http_method, parse_path_template(path), method, rule.body, response_body)
    _check_fields(route)
    return route


def _check_fields(route: Route) -> None:
    for variable in route.template.variables:
        _field(route.method.input_type, variable.field_path)
    if route.body not in ("", WHOLE_BODY):
        _field(route.method.input_type, route.body)
    if route.response_body:
        _field(route.method.output_type, route.response_body)


def _field(message: Descriptor, path: str) -> FieldDescriptor:
    """The field at ``path`` in ``message``, or ValueError."""
    *parents, last = path.split(".")
    for name in parents:
        field = message.fields_by_name.get(name)
        if field is None or field.message_type is None or field.is_repeated:
            raise ValueError(f"{path!r} leads through {name!r}, which is no message of its own")
        message = field.message_type
    if last not in message.fields_by_name:
        raise ValueError(f"{message.full_name} has no field {last!r}")
    return message.fields_by_name[last]
