"""The answers of a played month, right ones and wrong ones, to the very prompts that the product makes."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from bench import scripted_memory_model
from bench.memory import MONTH
from bench.month_script import Month, Turn, planted, read
from bench.scripted_memory_model import Clerk
from parlour.infra.json_values import JsonObject
from parlour.memory.extraction import prompt, second_look
from parlour.memory.extraction.extraction_window import ExtractionWindow, MessageLine, render_transcript
from parlour.memory.extraction.model_answer import InvalidModelAnswer
from parlour.memory.extraction.model_answer import parse_answer as read_facts
from parlour.memory.extraction.second_look import Review
from parlour.memory.summaries import summary_answer
from parlour.memory.summaries.summary_window import WindowMessage
from parlour.memory.summaries.summary_window import WindowTurn as Said
from parlour.models.model import Completion, ModelRequest
from parlour.prompts.assembly.segment import text_content
from tests.unit.memory.facts.fact_builders import make_candidate, make_known_fact


def told(day: int, text: str, **annotations: object) -> dict[str, object]:
    return {"who": "ana", "day": day, "turns": [{"user": text, "agent": "I see.", **annotations}]}


SCRIPT = {
    "name": "Ana",
    "begins": "2026-03-02T00:00:00+00:00",
    "sessions": [
        told(0, "I live in Pune.", truth=[{"key": "city", "value": ["Pune", "Poona"], "quote": "live in Pune"}]),
        told(
            1,
            "Staying in Surat this week.",
            wrong=[{"why": "temporary", "key": "city", "value": "Surat", "quote": "Staying in Surat"}],
        ),
        told(2, "Moved to Kochi.", truth=[{"key": "city", "value": ["Kochi"], "quote": "Moved to Kochi"}]),
    ],
}


@pytest.fixture
def month(monkeypatch: pytest.MonkeyPatch) -> Month:
    """Return a month whose right answers are all given."""
    for share in ("DROPPED", "GARBLED", "WRONG_SECOND"):
        monkeypatch.setattr(scripted_memory_model, share, 0)
    return Month.model_validate(SCRIPT)


def stretch(turns: Sequence[Turn]) -> ExtractionWindow:
    lines = [
        MessageLine(number, uuid4(), direction, body, turn.at)
        for number, turn in enumerate(turns, 1)
        for direction, body in (("inbound", turn.user), ("outbound", turn.agent))
    ]
    return ExtractionWindow(tuple(lines), len(turns), is_full=False)


def facts_of(clerk: Clerk, turns: Sequence[Turn], tries: int = 1) -> str:
    asked = prompt.user_prompt(render_transcript(stretch(turns), "Asha"), [])
    return said(clerk, prompt.system_prompt("Asha"), asked, tries)


def said(clerk: Clerk, system: str, asked: str, tries: int = 1) -> str:
    words: JsonObject = {"role": "user", "content": [text_content(asked)]}
    request = ModelRequest("m", 1_000, (), (text_content(system),), (words,) * tries)
    (part,) = clerk.stream(request, seconds_left=9.0)
    assert isinstance(part, Completion)
    return str(part.blocks[0]["text"])


def test_it_answers_every_message_with_what_the_script_says_of_it(month: Month) -> None:
    given = read_facts(facts_of(Clerk(month), month.turns)).facts
    assert [(one.line_number, one.value) for one in given] == [(1, "Pune"), (2, "Surat"), (3, "Kochi")]


def test_its_second_look_knows_what_is_true(month: Month) -> None:
    clerk, window = Clerk(month), stretch(month.turns)
    known = make_known_fact("Pune")
    reviews = [
        Review(make_candidate("Surat", origin="extracted"), 2, (known,)),
        Review(make_candidate("Kochi", origin="extracted"), 3, (known,)),
        Review(make_candidate("Kochi", key="home_town", origin="extracted"), 3),
        Review(make_candidate("Pune", origin="extracted"), 1),
    ]
    answers = said(clerk, second_look.SYSTEM_PROMPT, second_look.user_prompt(reviews, window))
    assert second_look.parse_answer(answers, second_look.count_notes(reviews)) == [
        "temporary",
        "temporary",
        "supports",
        "supports",
        "not said",
        "supports",
    ]


def test_a_third_of_a_months_answers_and_a_tenth_of_its_second_looks_are_wrong() -> None:
    month = read(MONTH)
    clerk = Clerk(month)
    for turn in month.turns:
        facts_of(clerk, [turn], tries=2)
        for truth in turn.truth:
            note = Review(make_candidate(truth.value[0], key="city", origin="extracted"), 1)
            said(clerk, second_look.SYSTEM_PROMPT, second_look.user_prompt([note], stretch([turn])))
    assert 0.28 < sum(bool(given.why) for given in clerk.given) / len(clerk.given) < 0.38
    assert 0.03 < sum(clerk.second) / len(clerk.second) < 0.2
    assert {"missed", "half value", "wrong key"} & {given.why for given in clerk.given}


def test_the_same_seed_gives_the_same_answers_and_another_one_others() -> None:
    month = read(MONTH)
    clerks = (Clerk(month), Clerk(month), Clerk(month, 2))
    first, again, other = ([facts_of(clerk, [turn], tries=2) for turn in month.turns] for clerk in clerks)
    assert first == again
    assert first != other


def test_a_value_holds_until_the_script_says_otherwise(month: Month) -> None:
    assert [(one.spellings[0], one.ended) for one in planted(month)] == [("Pune", "changed"), ("Kochi", "")]


def test_a_seventh_answer_is_no_json_until_it_is_asked_for_again(month: Month) -> None:
    clerk = Clerk(month, extractions=6)
    with pytest.raises(InvalidModelAnswer):
        read_facts(facts_of(clerk, month.turns))
    assert read_facts(facts_of(clerk, month.turns, tries=3)).facts


def test_a_third_of_its_summaries_forgets_and_a_third_makes_figures_up(month: Month) -> None:
    clerk, before, made_up, lost = Clerk(month), "The sky was green over Ghent.", 0, 0
    for number in range(9):
        at = datetime(2026, 3, 2, tzinfo=UTC) + timedelta(minutes=number)
        spoken = (WindowMessage(uuid4(), f"Point {number} is settled.", False, at),)
        asked = summary_answer.build_request(before, {}, [Said(uuid4(), number + 1, spoken, message_count=1)])
        text = said(clerk, asked.system_prompt, asked.user_prompt)
        written = summary_answer.check_answer(text, asked)
        assert f"Point {number} is settled" in written.text
        assert written.included_message_ids == (spoken[0].id,)
        made_up += written.unsupported_sentences
        lost += "Ghent" not in written.text
    assert made_up == 3
    assert lost == 3
