"""HTTP/JSON in front of the controller's own gRPC server, answering as grpc-gateway v2 does.

Everything is read from the services' descriptors: a method gets its URL from its
``google.api.http`` annotation, its parameters from its request message, its JSON from its
response message. `server.HttpServer` is the only thing to wire.
"""
