"""Which text a user reads when no model answers."""

import pytest

from parlour.approvals.typed_answer import TypedAnswer, TypedReading, read_typed_answers
from parlour.conversations.canned_replies import CannedTexts, ReplyCause, degraded_cause, order_languages
from parlour.infra.errors import (
    AnonymousShareSpent,
    Misconfigured,
    ParlourError,
    ProviderRejected,
    ProviderUnavailable,
    SpendRefused,
    SpendStopped,
)
from parlour.infra.json_values import JsonObject

CAUSES: tuple[ReplyCause, ...] = (
    "paused",
    "stopped",
    "cap_reached",
    "provider_unavailable",
    "misconfigured",
    "too_many_messages",
)
SETTINGS: JsonObject = {"replies": {"stopped": {"de": "Wir machen Pause.", "en": "We take a break."}}}


def test_every_cause_has_a_text_of_its_own() -> None:
    assert len({CannedTexts().find(cause) for cause in CAUSES}) == len(CAUSES)


@pytest.mark.parametrize(
    ("languages", "text"),
    [
        (("en",), "We take a break."),
        (("fr", "de-AT"), "Wir machen Pause."),
        (("de", "en"), "Wir machen Pause."),
        (("fr",), CannedTexts().find("stopped")),
        ((), CannedTexts().find("stopped")),
    ],
)
def test_own_text_is_chosen_by_the_agents_languages(languages: tuple[str, ...], text: str) -> None:
    assert CannedTexts(SETTINGS, languages).find("stopped") == text
    assert CannedTexts(SETTINGS, languages).find("paused") == CannedTexts().find("paused")


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["क्रेन कब आएगी और कौन देखेगा? फोरमैन को बताओ कि वह यह करे"], "hi"),
        (["Who has the crane, and when does it come?"], "en"),
        (["हाँ"], "en"),
        ([], "en"),
    ],
)
def test_the_users_language_comes_first_where_their_texts_tell(texts: list[str], first: str) -> None:
    assert order_languages(["en-GB", "de", "hi"], texts)[0].partition("-")[0] == first
    assert sorted(order_languages(["en-GB", "de", "hi"], texts)) == ["de", "en-GB", "hi"]


@pytest.mark.parametrize(
    ("problem", "cause"),
    [
        (SpendStopped(), "stopped"),
        (SpendRefused(), "cap_reached"),
        (AnonymousShareSpent(), "cap_reached"),
        (ProviderUnavailable(), "provider_unavailable"),
        (ProviderRejected(), "misconfigured"),
        (Misconfigured(), "misconfigured"),
    ],
)
def test_a_degraded_turn_names_its_cause(problem: ParlourError, cause: str) -> None:
    assert degraded_cause(problem) == cause


@pytest.mark.parametrize(
    ("settings", "languages", "text"),
    [
        ({}, ("de-AT",), "Soll ich das tun?"),
        ({}, ("en", "de"), "Shall I do this?"),
        ({}, ("xh",), "Shall I do this?"),
        ({"replies": {"question": {"xh": "Ndenze oku?"}}}, ("xh",), "Ndenze oku?"),
        ({"replies": {"question": {"de": "Darf ich?"}}}, ("en", "de"), "Darf ich?"),
    ],
)
def test_a_question_is_built_in_for_six_languages(settings: JsonObject, languages: tuple[str, ...], text: str) -> None:
    assert CannedTexts(settings, languages).find("question") == text


def test_the_answers_that_a_question_proposes_are_understood() -> None:
    for language in ("en", "de", "es", "fr", "hi", "mr"):
        words = CannedTexts({}, (language,))
        assert read_typed_answers(words.find("question_yes"), 1) == TypedReading((TypedAnswer(0, "approve"),))
        assert read_typed_answers(words.find("question_no"), 1) == TypedReading((TypedAnswer(0, "refuse"),))
        assert "{until}" in words.find("question_answer")
        assert "{until}" in words.find("questions_answer")
        for cause in ("question_done", "question_approved", "question_refused", "question_expired"):
            assert "{at}" in words.find(cause)
