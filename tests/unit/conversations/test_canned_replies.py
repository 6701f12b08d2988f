"""Which text a user reads when no model answers."""

import pytest

from parlour.conversations.canned_replies import CannedTexts, ReplyCause, degraded_cause
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
