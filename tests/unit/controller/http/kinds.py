"""kinds.proto as message classes and a service descriptor, compiled when this is imported."""

from __future__ import annotations

import importlib
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import google.api
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass
from grpc_tools import protoc

PACKAGE = "gpupods.testing.kinds.v1"


def compile_proto(source: str, name: str) -> descriptor_pb2.FileDescriptorProto:
    """The descriptor of one file's text, which may import google/api and google/protobuf."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_text(source)
        out = Path(folder) / "descriptors.binpb"
        status = protoc.main(
            [
                "protoc",
                f"--proto_path={folder}",
                f"--proto_path={files('grpc_tools') / '_proto'}",
                f"--proto_path={Path(next(iter(google.api.__path__))).parents[1]}",
                f"--descriptor_set_out={out}",
                name,
            ]
        )
        assert status == 0, "protoc refused it, see above"
        return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]


def add_to_pool(file: descriptor_pb2.FileDescriptorProto) -> None:
    """Make a file's types known, after those of the files it imports."""
    for imported in file.dependency:
        importlib.import_module(imported.removesuffix(".proto").replace("/", ".") + "_pb2")
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())


add_to_pool(compile_proto(Path(__file__).with_name("kinds.proto").read_text(), "kinds.proto"))

SERVICE: ServiceDescriptor = descriptor_pool.Default().FindServiceByName(f"{PACKAGE}.KindsService")
Everything: Any = GetMessageClass(
    descriptor_pool.Default().FindMessageTypeByName(f"{PACKAGE}.Everything")
)
