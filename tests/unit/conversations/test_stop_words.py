"""Which messages stop a reply that is under way."""

import pytest

from parlour.conversations.stop_words import is_stop_word
from parlour.infra.json_values import JsonObject


@pytest.mark.parametrize("text", ["stop", "STOP!", " Stop it. ", "hör auf", "रुको", "Arrête !", "para"])
def test_a_stop_word_of_any_language_is_one_in_any_spelling(text: str) -> None:
    assert is_stop_word(text, {})


@pytest.mark.parametrize("text", ["", "stop at the pour card", "please do not stop", "ok", "no", "cancel the visit"])
def test_a_sentence_about_something_else_is_none(text: str) -> None:
    assert not is_stop_word(text, {})


def test_a_binding_replaces_the_words_of_a_language_and_keeps_the_others() -> None:
    queue: JsonObject = {"stop_words": {"en": ["enough"], "de": []}}
    assert [is_stop_word(one, queue) for one in ("Enough.", "stop it", "halt", "रुको")] == [True, False, False, True]
