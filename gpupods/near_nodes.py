"""What to say where no node has a name: those that may be meant."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

SHOWN = 5


def hint_on_node(name: str, nodes: Sequence[str]) -> str:
    """For the end of a message: "there is gpu-1, gpu-2", or how to find out."""
    near = difflib.get_close_matches(name, nodes, SHOWN)
    return f"there is {', '.join(near)}" if near else "kubectl get nodes lists them"
