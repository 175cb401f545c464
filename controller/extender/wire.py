"""What kube-scheduler and Volcano's extender plugin send and read, as JSON. Shapes only.

kube-scheduler's are those of k8s.io/kube-scheduler/extender/v1, Volcano's those of its plugin
`extender`. Both write Go's own field names where a type has no other.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from gpupods.kube.objects import AnyObject, Pod

T = TypeVar("T")


class WireError(ValueError):
    """A request that is not what a scheduler sends; the message says what it lacks."""


class Capitalized(msgspec.Struct, frozen=True, gc=False, rename="pascal"):
    """Named as Go names fields."""


class NodeList(msgspec.Struct, frozen=True, gc=False):
    """Nodes as they came, to be given back as they came."""

    items: list[msgspec.Raw] | None = None


class ExtenderArgs(Capitalized, frozen=True):
    """Of filter and prioritize: ``NodeNames`` where the extender is ``nodeCacheCapable``."""

    pod: Pod | None = None
    nodes: NodeList | None = None
    node_names: list[str] | None = None


class ExtenderFilterResult(Capitalized, frozen=True):
    """``Nodes`` or ``NodeNames``, whichever was asked with."""

    nodes: NodeList | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] = {}
    failed_and_unresolvable_nodes: dict[str, str] = {}
    error: str = ""


class HostPriority(Capitalized, frozen=True):
    """``Score`` is 0 to 10."""

    host: str
    score: int


class ExtenderBindingArgs(Capitalized, frozen=True):
    """Of bind."""

    pod_name: str
    pod_namespace: str
    pod_uid: str = msgspec.field(name="PodUID")
    node: str


class ExtenderBindingResult(Capitalized, frozen=True):
    """Why it was not done; "" where it was."""

    error: str = ""


class VolcanoTask(Capitalized, frozen=True):
    """As much of a TaskInfo as is read."""

    pod: Pod | None = None


class VolcanoNode(Capitalized, frozen=True):
    """As much of a NodeInfo as is read."""

    name: str


class PredicateRequest(msgspec.Struct, frozen=True, gc=False):
    """Of predicate: one task, one node."""

    task: VolcanoTask
    node: VolcanoNode


class PredicateResponse(msgspec.Struct, frozen=True, gc=False):
    """``status`` is why not; "" is a fit. ``code`` as Volcano numbers them."""

    status: str = ""
    code: int = 0


class PrioritizeRequest(msgspec.Struct, frozen=True, gc=False):
    """Of prioritize."""

    task: VolcanoTask
    nodes: list[VolcanoNode]


class PrioritizeResponse(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A score for each node, or why there is none."""

    node_score: dict[str, float] | None = None
    error_message: str = ""


def read(body: bytes, kind: type[T]) -> T:
    """A request.

    Raises:
        WireError: it is not one.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(f"the request is no {kind.__name__} in JSON: {error}") from error


def name_of(node: msgspec.Raw) -> str:
    """The name of a node that came whole.

    Raises:
        WireError: it has none.
    """
    name = read(bytes(node), AnyObject).metadata.name
    if not name:
        raise WireError("the request has a node without a name")
    return name
