"""What changes or ends a fact, or is critical, is looked at twice; what stays unclear is asked once."""

from datetime import timedelta

import pytest

from parlour.infra.errors import ProviderUnavailable
from tests.conversation_harness import ConversationHarness
from tests.integration.memory.extraction_harness import (
    ExtractionConversation,
    extraction_answer,
    proposed_fact,
    second_answers,
)

ASKS = "(may be over: when it fits, ask once whether it still holds)"


@pytest.fixture
def talk(conversation: ConversationHarness) -> ExtractionConversation:
    """Return a conversation with somebody who lives in Cardiff."""
    made = ExtractionConversation(conversation)
    made.say("I live in Cardiff.")
    made.run_extraction(extraction_answer(proposed_fact("city", "Cardiff", 1)))
    assert made.facts() == {"city": "Cardiff"}
    return made


def cities(talk: ExtractionConversation) -> list[tuple[object, ...]]:
    return talk.desk.query("SELECT value, end_reason FROM facts WHERE key = 'city' ORDER BY created_at, id")


def prompt_of_next_turn(talk: ExtractionConversation) -> str:
    talk.say("Anything new?")
    return str(talk.desk.model.requests[-1].messages)


def test_a_change_that_both_answers_support_replaces_the_fact_and_both_are_kept(talk: ExtractionConversation) -> None:
    talk.say("Leeds is home now, packed up Cardiff for good.")
    talk.run_extraction(
        extraction_answer(proposed_fact("city", "Leeds", 1, "Leeds is home now")),
        second_answers("supports", "supports"),
    )
    assert cities(talk) == [("Cardiff", "contradicted"), ("Leeds", None)]
    asked = talk.last_prompt()
    assert "1. city = Leeds" in asked
    assert "2. over: city = Cardiff" in asked
    assert "user: I live in Cardiff." in asked
    assert talk.desk.query(
        "SELECT decision, first_answer ->> 'polarity', first_answer ->> 'subject', second_answer FROM fact_decisions"
        " WHERE decision = 'contradicts'"
    ) == [("contradicts", "holds", "self", "supports")]


def test_a_change_that_the_second_look_denies_changes_nothing(talk: ExtractionConversation) -> None:
    talk.say("Siân and the baby are at her mum's in Rhyl.")
    talk.run_extraction(
        extraction_answer(proposed_fact("city", "Rhyl", 1, "at her mum's in Rhyl")),
        second_answers("other person", "not said"),
    )
    assert cities(talk) == [("Cardiff", None)]
    assert ("city", "other_person") in talk.decisions()
    assert ASKS not in prompt_of_next_turn(talk)


def test_an_implied_end_needs_no_words_of_the_fact(talk: ExtractionConversation) -> None:
    talk.say("Gave the keys back on Friday.")
    talk.run_extraction(
        extraction_answer(proposed_fact("city", "", 1, "Gave the keys back", polarity="ends")),
        second_answers("supports"),
    )
    assert cities(talk) == [("Cardiff", "retracted")]


def test_an_unclear_change_is_asked_for_once(talk: ExtractionConversation) -> None:
    talk.say("Half my boxes are in Leeds by now.")
    talk.run_extraction(
        extraction_answer(proposed_fact("city", "Leeds", 1, "are in Leeds by now")),
        second_answers("unclear", "unclear"),
    )
    assert cities(talk) == [("Cardiff", None)]
    assert f"{ASKS} city: Cardiff" in prompt_of_next_turn(talk)
    assert "- (may be over) city: Cardiff" in prompt_of_next_turn(talk)
    talk.run_extraction(
        extraction_answer(proposed_fact("city", "", 1, "Anything new?", polarity="ends")), second_answers("unclear")
    )
    assert ASKS not in prompt_of_next_turn(talk)


def test_what_the_user_says_again_before_they_are_asked_is_not_asked(talk: ExtractionConversation) -> None:
    talk.say("Half my boxes are in Leeds by now.")
    talk.run_extraction(
        extraction_answer(proposed_fact("city", "Leeds", 1, "are in Leeds by now")),
        second_answers("unclear", "unclear"),
    )
    talk.desk.query("UPDATE facts SET last_confirmed_at = doubted_at + interval '1 minute' RETURNING 1")
    assert ASKS not in prompt_of_next_turn(talk)


def test_both_allergies_of_a_message_are_stored_and_one_ends_alone(talk: ExtractionConversation) -> None:
    talk.say("allergic to penicillin AND latex")
    both = [proposed_fact("allergy", value, 1, "allergic to penicillin AND latex") for value in ("penicillin", "latex")]
    talk.run_extraction(extraction_answer(*both), second_answers("supports", "supports"))
    live = "SELECT value FROM facts WHERE key = 'allergy' AND valid_until IS NULL ORDER BY value"
    assert talk.desk.query(live) == [("latex",), ("penicillin",)]
    prompt = prompt_of_next_turn(talk)
    assert "- allergy: latex" in prompt
    assert "- allergy: penicillin" in prompt
    talk.say("the latex thing turned out to be nothing")
    talk.run_extraction(
        extraction_answer(proposed_fact("allergy", "latex", 2, "turned out to be nothing", polarity="ends")),
        second_answers("supports"),
    )
    assert talk.desk.query(live) == [("penicillin",)]


def test_a_models_reading_takes_the_place_of_a_rules(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    talk.say("My name is Siân's.")
    assert talk.facts() == {"name": "Siân's"}
    talk.run_extraction(
        extraction_answer(proposed_fact("name", "Siân", 1, "My name is Siân's")), second_answers("supports", "supports")
    )
    assert talk.facts() == {"name": "Siân"}
    assert talk.desk.query("SELECT end_reason FROM facts WHERE valid_until IS NOT NULL") == [("corrected",)]


def test_a_fact_with_an_end_date_stands_beside_the_lasting_one_and_ends_by_itself(talk: ExtractionConversation) -> None:
    day = (talk.desk.clock.now + timedelta(days=3)).date().isoformat()
    talk.say("I'm in Leeds until Sunday.")
    leeds = proposed_fact("city", "Leeds", 1, "in Leeds until Sunday", duration="until", until=day)
    talk.run_extraction(extraction_answer(leeds))
    prompt = prompt_of_next_turn(talk)
    assert f"- (until {day}) city: Leeds" in prompt
    assert "- city: Cardiff" in prompt
    talk.desk.clock.now += timedelta(days=5)
    prompt = prompt_of_next_turn(talk)
    assert "city: Leeds" not in prompt
    assert "- city: Cardiff" in prompt
    talk.say("Cardiff as ever.")
    talk.run_extraction(extraction_answer(proposed_fact("city", "Cardiff", 3)))
    assert cities(talk) == [("Cardiff", None), ("Leeds", "expired")]


def test_an_unreadable_second_look_supports_nothing_and_loses_nothing_else(talk: ExtractionConversation) -> None:
    talk.say("I'm in Leeds now and keep bees.")
    talk.run_extraction(
        extraction_answer(
            proposed_fact("city", "Leeds", 1, "in Leeds now"), proposed_fact("about.hobby", "bees", 1, "keep bees")
        ),
        "no",
        "no again",
    )
    assert talk.facts() == {"city": "Cardiff", "about.hobby": "bees"}
    assert ("city", "unclear") in talk.decisions()
    assert talk.due_rows() == []


def test_a_second_look_that_does_not_come_leaves_the_turns_due(talk: ExtractionConversation) -> None:
    talk.say("I'm in Leeds now.")
    answer = extraction_answer(proposed_fact("city", "Leeds", 1, "in Leeds now"))
    talk.run_extraction(answer, *[ProviderUnavailable("away")] * 4)
    assert (talk.facts(), talk.attempts()) == ({"city": "Cardiff"}, [(1, "provider_unavailable")])
    talk.run_extraction(answer, second_answers("supports", "supports"), after=timedelta(hours=1))
    assert talk.facts() == {"city": "Leeds"}


@pytest.mark.parametrize(
    ("proposals", "decisions"),
    [
        ([], set()),
        ([proposed_fact("city", "Leeds", 1, "I moved to Leeds")], {"quote_not_found"}),
        ([proposed_fact("city", "Leeds", 2, "Leeds is nice")], {"unknown_message"}),
        ([proposed_fact("town_hall", "nice", 1, "nice")], {"unknown_key"}),
        ([proposed_fact("about.weather", "nice", 1, "nice")] * 500, {"new", "too_many", "duplicate"}),
        (
            [proposed_fact("city", "Cardiff", 1), proposed_fact("city", "Cardiff", 1, polarity="ends")],
            {"contradicting"},
        ),
    ],
    ids=["empty", "no quote", "a reply", "no key", "500", "both ways"],
)
def test_bad_answers_leave_a_row_with_the_reason_and_retire_nothing(
    talk: ExtractionConversation, proposals: list[dict[str, object]], decisions: set[str]
) -> None:
    talk.say("Cardiff is nice")
    talk.desk.query("DELETE FROM fact_decisions RETURNING 1")
    talk.run_extraction(extraction_answer(*proposals), second_answers(*["supports"] * 40))  # type: ignore[arg-type]
    assert {decision for _, decision in talk.decisions()} == decisions
    assert len(talk.decisions()) == len(proposals)
    assert cities(talk) == [("Cardiff", None)]
