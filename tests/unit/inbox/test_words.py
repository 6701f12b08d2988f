"""The pack's words for a person are found as words, in any language and case."""

import pytest

from parlour.conversations.turn_openings import names_a_person
from parlour.infra.json_values import JsonObject

INBOX: JsonObject = {"words": {"en": ["real person", "human"], "hi": ["इंसान"]}}


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        ("Can I talk to a REAL PERSON?", True),
        ("human!", True),
        ("मुझे इंसान चाहिए", True),
        ("that is inhuman", False),
        ("a real personality", False),
        ("", False),
    ],
)
def test_words_ask_for_a_person(text: str, is_asked: bool) -> None:
    assert names_a_person([text], INBOX) is is_asked


def test_a_binding_without_words_is_asked_by_nobody() -> None:
    assert not names_a_person(["human"], {})
