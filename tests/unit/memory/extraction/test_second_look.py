"""The second look: what it is asked, and what becomes of its answers."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from parlour.memory.extraction.extraction_window import ExtractionWindow, MessageLine, split_lines
from parlour.memory.extraction.model_answer import InvalidModelAnswer
from parlour.memory.extraction.second_look import Review, apply_answers, parse_answer, user_prompt
from tests.unit.memory.facts.fact_builders import make_candidate, make_known_fact

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def window(*said: str, after: int = 0) -> ExtractionWindow:
    """Return a window of one message a turn; one that begins with >> is the agent's."""
    lines = [
        MessageLine(
            number,
            UUID(int=number),
            "outbound" if text.startswith(">>") else "inbound",
            text.removeprefix(">>"),
            START + timedelta(minutes=number),
        )
        for number, text in enumerate(said, 1)
    ]
    return split_lines(lines, after, len(lines))


def test_it_sees_the_message_the_two_before_it_and_the_present_fact() -> None:
    found = window("Far away", ">>Where do you live?", "Hm", "Leeds now", after=2)
    review = Review(make_candidate("Leeds", origin="extracted"), 2, (make_known_fact("Cardiff"),))
    assert user_prompt([review], found).strip().splitlines() == [
        "agent: Where do you live?",
        "user: Hm",
        "> 2026-03-01 user: Leeds now",
        "1. city = Leeds",
        "2. over: city = Cardiff",
    ]


def test_notes_on_one_message_stand_together_and_an_end_says_what_is_over() -> None:
    known = make_known_fact("Voltara", key="company")
    reviews = [
        Review(make_candidate("", key="company", origin="extracted", is_retraction=True), 1, (known,)),
        Review(make_candidate("Leeds", origin="extracted"), 1),
    ]
    text = user_prompt(reviews, window("laid off friday, back in Leeds"))
    assert text.count(">") == 1
    assert text.endswith("1. over: company = Voltara\n2. city = Leeds")


def test_an_answer_is_read_note_by_note_and_a_missing_one_is_unclear() -> None:
    assert parse_answer('{"1": "supports", "3": "maybe"}', 3) == ["supports", "unclear", "unclear"]


@pytest.mark.parametrize("text", ["", "supports", "[]", "{}", '{"1": "yes"}'])
def test_an_answer_to_no_note_is_unusable(text: str) -> None:
    with pytest.raises(InvalidModelAnswer):
        parse_answer(text, 1)


def test_only_what_is_supported_is_accepted() -> None:
    known = make_known_fact("Cardiff")
    ended = make_candidate("", confidence=0.7, origin="extracted", is_retraction=True)
    reviews = [Review(ended, 1, (known,)) for _ in range(5)]
    found = apply_answers(reviews, ["supports", "other person", "temporary", "not said", "unclear"])
    (accepted,) = found.candidates
    assert accepted.confidence == 0.8
    assert accepted.answers is not None
    assert accepted.answers.second == "supports"
    assert [one.decision for one in found.rejected] == ["other_person", "temporary", "not_said", "unclear"]
    assert [one.answers.second for one in found.rejected if one.answers] == [
        "other person",
        "temporary",
        "not said",
        "unclear",
    ]
    assert found.doubted_ids == (known.id,)


def test_a_new_value_replaces_the_old_one_only_if_that_is_said_to_be_over() -> None:
    known = make_known_fact("Cardiff")
    review = Review(make_candidate("Leeds", origin="extracted"), 1, (known,))
    for old, is_beside, doubted in (("supports", False, ()), ("not said", True, (known.id,))):
        found = apply_answers([review], ["supports", old])  # type: ignore[list-item]
        assert ([one.stands_beside for one in found.candidates], found.doubted_ids) == ([is_beside], doubted)
    assert apply_answers([review], ["temporary", "supports"]).candidates == ()
