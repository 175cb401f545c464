"""Callers who ask through the Service all the time, and a judgement of every answer they got."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.cluster.testbed import pod_on
from tests.e2e.comparing import assert_is, without_missing
from tests.e2e.watching import Watch
from tests.realparts.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tests.cluster.node import Node
    from tests.cluster.product import Product
    from tests.cluster.testbed import BedPod, Testbed

_ANSWERS_IN_S = 120.0


class Load:
    """One caller for a pod of each GPU node, from `asking` on."""

    def __init__(self, bed: Testbed, pods: list[BedPod], watches: dict[str, Watch]) -> None:
        self._bed = bed
        self._pods = pods
        self.watches = watches

    def assert_all_true(self) -> None:
        """Fail unless every answer was whole and true, and every call had one."""
        for name, watch in self.watches.items():
            truth = self._bed.truth(self._bed.cluster.nodes[name], self._pods)
            assert not watch.errors, f"{len(watch.errors)} calls failed: {watch.errors[0]!r}"
            assert len(watch.answers) > 10
            for answer in watch.answers:
                assert_is(answer, truth)

    def assert_rows_true(self, kind: pb.MissingKind.ValueType) -> None:
        """The same, but answers may say that something of this kind is missing."""
        for name, watch in self.watches.items():
            truth = self._bed.truth(self._bed.cluster.nodes[name], self._pods)
            assert not watch.errors, f"{len(watch.errors)} calls failed: {watch.errors[0]!r}"
            for answer in watch.answers:
                assert {part.kind for part in answer.missing} <= {kind}
                assert_is(without_missing(answer), truth)

    def wait_for_answers(self, number: int = 50) -> None:
        """Wait until each caller has got so many answers more."""
        wanted = {name: len(watch.answers) + number for name, watch in self.watches.items()}
        wait_until(
            lambda: all(len(self.watches[name].answers) >= wanted[name] for name in wanted),
            what=f"{number} answers more to each caller",
            deadline_s=_ANSWERS_IN_S,
        )

    def assert_honest(self) -> None:
        """Fail unless every answer was true as far as it went, and said what it lacked."""
        for name, watch in self.watches.items():
            watch.assert_honest(self._bed.truth(self._bed.cluster.nodes[name], self._pods))


@contextmanager
def asking(
    product: Product, bed: Testbed, pods: list[BedPod], nodes: Collection[Node] | None = None
) -> Iterator[Load]:
    """Callers who ask about these nodes, all GPU nodes if none are named, until this is left."""
    with ExitStack() as stack:
        watches = {
            node.name: stack.enter_context(Watch(product.grpc, pod_on(node.name, pods)))
            for node in (nodes or bed.cluster.gpu_nodes)
        }
        yield Load(bed, pods, watches)
