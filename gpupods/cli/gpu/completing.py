"""Completes names of nodes from the cluster, in the time that a person would wait for a Tab."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

LIMIT_S = 3.0


def complete_node(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """The nodes whose names begin so; none where the cluster does not answer soon."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - seldom needed

    given: dict[str, Any] = context.params
    before = given.get(parameter.name or "")
    taken = before if isinstance(before, tuple) else ()
    try:
        names = asyncio.run(_names(given.get("kubeconfig"), given.get("kube_context")))
    except Exception:  # noqa: BLE001 - a Tab is no place for an error
        return []
    return [
        CompletionItem(name) for name in names if name.startswith(incomplete) and name not in taken
    ]


async def _names(kubeconfig: str | None, kube_context: str | None) -> list[str]:
    from gpupods.cli.gpu.cluster import node_names, operator_api  # noqa: PLC0415 - slow to load

    async with asyncio.timeout(LIMIT_S), operator_api(kubeconfig, kube_context) as api:
        return await node_names(api)
