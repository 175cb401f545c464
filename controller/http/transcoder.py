"""One route's way from an HTTP request to a gRPC call and back.

Made once per route, so that a request costs no look-up in descriptors. Knows HTTP requests only
as headers, forms and bytes; sockets and connections are `server`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from controller.http import protojson
from controller.http.body import merge_body
from controller.http.form import Form
from controller.http.query import populate_from_path, populate_from_query
from controller.http.routes import Match, Route


class Transcoder:
    """Reads requests, calls and writes answers for one ``route`` over ``channel``."""

    def __init__(self, route: Route, channel: grpc.aio.Channel) -> None:
        self.route = route
        self.streams = route.method.server_streaming
        self.takes_query = route.takes_query
        self._request_class: Callable[[], Message] = GetMessageClass(route.method.input_type)
        self._bound_paths = route.bound_paths
        connect = channel.unary_stream if self.streams else channel.unary_unary
        self.call: Any = connect(
            route.grpc_path,
            request_serializer=_serialize,
            response_deserializer=GetMessageClass(route.method.output_type).FromString,
        )
        """Starts the call: ``call(request, timeout=seconds, metadata=pairs)``."""

    def read_request(self, match: Match, form: Form, body: bytes) -> Message:
        """The request message, from the body, then the path, then the query.

        Raises:
            BadRequestError: one of them cannot be read.
            UnencodableError: a string is not UTF-8.
        """
        request = self._request_class()
        if self.route.body:
            merge_body(request, self.route.body, body)
        populate_from_path(request, match.variables)
        if self.takes_query:
            populate_from_query(request, form, self._bound_paths)
        return request

    def write_response(self, response: Message) -> bytes:
        """The answer's JSON; ValueError if it cannot be shown."""
        if self.route.response_body:
            return protojson.field_to_json(response, self.route.response_body)
        return protojson.to_json(response)

    def write_result(self, response: Message) -> bytes:
        """One line of a streamed answer; ValueError if it cannot be shown."""
        return b'{"result":' + self.write_response(response) + b"}\n"


def _serialize(request: Message) -> bytes:
    return request.SerializeToString()
