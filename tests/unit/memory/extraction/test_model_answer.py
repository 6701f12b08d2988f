"""What a model answered is read strictly: one object, lists, typed entries; what is none of these is counted."""

import json
import math
from datetime import date

import pytest

from parlour.infra.json_values import Json
from parlour.memory.extraction.model_answer import (
    MAX_EPISODES,
    MAX_FACTS,
    InvalidModelAnswer,
    ProposedFact,
    parse_answer,
)

FACT: dict[str, Json] = {
    "message": 1,
    "quote": "I live in Pune",
    "subject": "self",
    "polarity": "holds",
    "duration": "lasting",
    "certainty": 0.9,
    "key": "city",
    "value": "Pune",
}


def answer(*facts: Json, episodes: Json = None) -> str:
    return json.dumps({"facts": [*facts], **({"episodes": episodes} if episodes is not None else {})})


def test_an_answer_is_read_with_a_fence_around_it_or_without() -> None:
    for text in (answer(FACT), f"```json\n{answer(FACT)}\n```"):
        (fact,) = parse_answer(text).facts
        assert fact == ProposedFact("city", "Pune", 0.9, 1, "I live in Pune", "self", "holds", "lasting")


@pytest.mark.parametrize("text", ["", "no", "[]", "{}", '{"facts": {}}', '{"facts": [], "episodes": 3}', "[" * 100_000])
def test_what_is_no_such_object_is_unusable(text: str) -> None:
    with pytest.raises(InvalidModelAnswer):
        parse_answer(text)


def test_words_around_the_object_are_not_let_pass() -> None:
    with pytest.raises(InvalidModelAnswer):
        parse_answer(f"Here it is: {answer(FACT)}")


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": ""},
        {"key": 3},
        {"value": ""},
        {"value": "x" * 301},
        {"value": None},
        {"certainty": "high"},
        {"certainty": True},
        {"certainty": 1.2},
        {"message": "1"},
        {"message": [1]},
        {"message": True},
        {"quote": ""},
        {"quote": "x" * 501},
        {"subject": "mother"},
        {"subject": None},
        {"polarity": "yes"},
        {"duration": "long"},
        {"duration": "until"},
        {"duration": "until", "until": "June"},
    ],
)
def test_an_entry_that_is_none_is_counted_and_left_out(wrong: dict[str, Json]) -> None:
    found = parse_answer(answer({**FACT, **wrong}, FACT, "Pune"))
    assert (len(found.facts), found.malformed_count) == (1, 2)


def test_a_number_that_is_none_is_no_confidence() -> None:
    text = answer(FACT).replace("0.9", str(math.nan).replace("nan", "NaN"))
    assert (parse_answer(text).facts, parse_answer(text).malformed_count) == ((), 1)


def test_what_is_taken_back_needs_no_value() -> None:
    (fact,) = parse_answer(answer({**FACT, "value": "", "polarity": "ends"})).facts
    assert fact.is_retraction


def test_what_is_as_usual_may_be_left_out() -> None:
    short = {name: value for name, value in FACT.items() if name not in ("subject", "polarity", "duration")}
    assert parse_answer(answer(short)).facts == parse_answer(answer(FACT)).facts


def test_an_entry_says_of_whom_and_until_when() -> None:
    until: dict[str, Json] = {"subject": "Other: mother", "duration": "until", "until": "2026-06-30"}
    (fact,) = parse_answer(answer({**FACT, **until})).facts
    assert (fact.subject, fact.duration, fact.until) == ("other", "until", date(2026, 6, 30))
    assert fact.to_json() == {"subject": "other", "polarity": "holds", "duration": "until", "certainty": 0.9}


def test_an_answer_has_an_end() -> None:
    episodes: Json = [{"text": f"Visit {number}", "messages": [1]} for number in range(20)]
    found = parse_answer(answer(*[{**FACT, "key": f"about.{number}"} for number in range(500)], episodes=episodes))
    assert found.surplus_count == 500 - MAX_FACTS
    assert (len(found.facts), len(found.episodes)) == (MAX_FACTS, MAX_EPISODES)


def test_what_a_database_refuses_is_not_kept() -> None:
    (fact,) = parse_answer(answer({**FACT, "value": "Pu\0ne \ud800"})).facts
    assert fact.value == "Pune"
