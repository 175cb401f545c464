"""Operators' words, as the Node carries them."""

from __future__ import annotations

import json

from nodeagent.health.words import Words
from nodeagent.reporting.words import words_of

GIVEN = "2027-01-15T08:00:00Z"


def test_each_word_is_one_of_this_node() -> None:
    annotation = json.dumps(
        {
            "0": {"kind": "exclude", "who": "anna", "why": "odd", "given": GIVEN, "uuid": "GPU-0"},
            "1": {
                "kind": "restore",
                "who": "ben",
                "why": "fixed",
                "given": GIVEN,
                "until": "2027-01-15T09:00:00+00:00",
            },
        }
    )
    words = words_of(annotation, "node-uid")
    said = words.said
    assert words.unread == ""
    assert (said[0].restores, said[0].uuid, said[0].word.who) == (False, "GPU-0", "anna")
    assert said[0].word.given_wall == 1_800_000_000.0
    assert (said[1].restores, said[1].word.until_wall) == (True, 1_800_003_600.0)
    assert {each.word.node for each in said.values()} == {"node-uid"}


def test_what_cannot_be_read_costs_no_other_word() -> None:
    annotation = json.dumps(
        {
            "0": {"kind": "explode", "who": "anna", "why": "odd", "given": GIVEN},
            "1": {"kind": "exclude", "who": " ", "why": "", "given": GIVEN},
        }
    )
    words = words_of(annotation, "node-uid")
    assert "of GPU 0" in words.unread
    assert list(words.said) == [1]
    assert words.said[1].word.who, "an override must show as one"


def test_without_the_annotation_nobody_says_anything() -> None:
    assert words_of(None, "node-uid") == Words({}, "node-uid", "")
    words = words_of("rubbish", "node-uid")
    assert words.said == {}
    assert "is not a JSON object" in words.unread
