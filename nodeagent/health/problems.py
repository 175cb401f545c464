"""Why something may go unseen or be forgotten, by what it is about. Each is news once."""

from __future__ import annotations


class Problems:
    """What is wrong at present."""

    def __init__(self) -> None:
        self._by_topic: dict[str, str] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        """For people, by topic; empty: nothing is wrong."""
        return tuple(text for _, text in sorted(self._by_topic.items()))

    def note(self, topic: str, text: str) -> bool:
        """This is wrong with ``topic``, or nothing if it is empty. Whether that is news."""
        if self._by_topic.get(topic, "") == text:
            return False
        if text:
            self._by_topic[topic] = text
        else:
            del self._by_topic[topic]
        return True
