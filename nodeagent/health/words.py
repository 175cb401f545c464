"""Operators' words as a Node carries them -> what each GPU is to be told. Pure.

An exclusion holds for as long as the Node carries it. A restoration is done once: what happens
after it was given counts again. So the same words may be read any number of times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nodeagent.health.inventory import Slot
from nodeagent.health.memory import Known
from nodeagent.health.observations import Excluded, Restored, Said, Seen, TakenBack, Word


@dataclass(frozen=True, slots=True)
class Words:
    """All that a Node carries of its operators'.

    Attributes:
        said: By index.
        node: The Node's uid.
        unread: What is wrong with what could not be read; empty: nothing.
        spoken_of: The indexes with a word, be it understood or not; None: nobody can tell. What is
            not understood takes nothing back.
    """

    said: Mapping[int, Said]
    node: str
    unread: str = ""
    spoken_of: frozenset[int] | None = frozenset()

    def to_tell(self, gpus: tuple[Known, ...], wall: float) -> list[tuple[int, Seen]]:
        """What has to be told to which GPU, by its place in ``gpus``, for the words to hold."""
        found = ((place, self._of(known, wall)) for place, known in enumerate(gpus))
        return [(place, what) for place, what in found if what is not None]

    def problem(self, gpus: tuple[Known, ...]) -> str:
        """Why not all of them do what they say; empty: they do. Nobody knows before a GPU is."""
        unheard = unheeded(gpus, self.said, self.node) if gpus else ()
        return "; ".join(filter(None, [self.unread, *self._meanwhile(gpus), *unheard]))

    def _meanwhile(self, gpus: tuple[Known, ...]) -> Iterator[str]:
        for known in gpus:
            index, word = known.slot.index, known.state.exclusion
            if word is not None and word.node == self.node and self._garbled(index):
                yield f"GPU {index} stays excluded by {word.who} ({word.why}) meanwhile"

    def _garbled(self, index: int) -> bool:
        """Whether there may be a word on this GPU that is not understood."""
        return index not in self.said and (self.spoken_of is None or index in self.spoken_of)

    def _of(self, known: Known, wall: float) -> Seen | None:
        if self._garbled(known.slot.index):
            return None
        return heeding(known, self.said.get(known.slot.index), self.node, wall)


def heeding(known: Known, said: Said | None, node: str, now_wall: float) -> Seen | None:
    """What has to be told to one GPU for it to stand as the words say; None: nothing.

    Args:
        known: The GPU.
        said: The word on its index, if there is one.
        node: The uid of the Node that carries the words.
        now_wall: For words that end.
    """
    state = known.state
    if said is not None and (_of_another(said, known.slot) or _ended(said.word, now_wall)):
        said = None
    if said is not None and said.restores:
        if state.heeded_wall is None or said.word.given_wall > state.heeded_wall:
            return Restored(said.word)
        said = None
    if said is None:
        carried = state.exclusion is not None and state.exclusion.node == node
        return TakenBack() if carried else None
    return None if state.exclusion == said.word else Excluded(said.word)


def unheeded(gpus: tuple[Known, ...], said: Mapping[int, Said], node: str) -> Iterator[str]:
    """What is to be told of words that do not do what they say, for people."""
    by_index = {known.slot.index: known for known in gpus}
    for index, each in sorted(said.items()):
        known = by_index.get(index)
        if known is None:
            there = ", ".join(map(str, by_index))
            yield (
                f"{each.word.who}'s word on GPU {index} counts for nothing: this node's GPUs are "
                f"{there}; take it back"
            )
        elif _of_another(each, known.slot):
            yield (
                f"{each.word.who}'s word on GPU {index} is of board {each.uuid}, and there is "
                f"{known.slot.uuid or 'one without a name'} now: it does not count; say it again "
                "of this one, or take it back"
            )
    for index, known in sorted(by_index.items()):
        exclusion = known.state.exclusion
        if exclusion is not None and exclusion.node not in {"", node} and index not in said:
            yield (
                f"GPU {index} stays excluded by {exclusion.who} ({exclusion.why}), though the "
                "Node, which was made again since, does not say so: exclude it again, or restore it"
            )


def _of_another(said: Said, slot: Slot) -> bool:
    return bool(said.uuid) and said.uuid != slot.uuid


def _ended(word: Word, now_wall: float) -> bool:
    return word.until_wall is not None and word.until_wall <= now_wall
