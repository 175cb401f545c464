"""The annotation with operators' words -> what the monitor heeds. Pure."""

from __future__ import annotations

from datetime import datetime

from gpupods.node_annotations import Override, OverrideKind, parse_overrides, spoken_of
from nodeagent.health.observations import Said, Word
from nodeagent.health.words import Words

NOBODY_NAMED = "somebody who gave no name"


def words_of(annotation: str | None, node: str) -> Words:
    """The words, and what is wrong with those that cannot be read.

    Args:
        annotation: As the Node has it; None: it has none.
        node: The Node's uid.
    """
    overrides, problem = parse_overrides(annotation)
    said = {index: _said(override, node) for index, override in overrides.items()}
    return Words(said, node, problem, spoken_of(annotation))


def _said(override: Override, node: str) -> Said:
    word = Word(
        who=override.who.strip() or NOBODY_NAMED,
        why=override.why.strip() or "without a reason",
        given_wall=override.given.timestamp(),
        until_wall=_seconds(override.until),
        node=node,
    )
    return Said(word, restores=override.kind is OverrideKind.RESTORE, uuid=override.uuid)


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()
