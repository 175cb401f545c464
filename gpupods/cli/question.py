"""What a command asks a server. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from gpupods.client.answer import PodProcess

KINDS = ("pod", "pods", "po")
"""What kubectl wants before a pod's name, and nobody here."""
NAME_ALONE = "write the pod's name alone"
NODE_KINDS = ("node", "nodes", "no")
NODES_GPUS = "a node's GPUs: gpupods gpu list NODE"


def hint_on_kind(word: object) -> str:
    """What to write instead of a kind; "" if ``word`` is none."""
    if word in KINDS:
        return NAME_ALONE
    return NODES_GPUS if word in NODE_KINDS else ""


@dataclass(frozen=True, slots=True)
class Question:
    """About which pod, and how long it may take.

    Attributes:
        pod: "namespace/name", "name" or a uid.
        only_this_pod: leave out the rows of other pods.
        max_age_s: how old a sample may be, in seconds.
        timeout_s: how long to wait for the answer, in seconds.
    """

    pod: str
    only_this_pod: bool = False
    max_age_s: float = 0.0
    timeout_s: float = 5.0

    def is_about(self, process: PodProcess) -> bool:
        """Whether a row is of the pod that was asked for."""
        if self.pod == process.pod_uid:
            return True
        namespace, _, name = self.pod.rpartition("/")
        return name == process.pod and (not namespace or namespace == process.namespace)
