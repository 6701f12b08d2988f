"""The hand-written answers of a played month: right ones and wrong ones, to the very prompts that the product makes."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from bench.memory import MONTH
from bench.month_script import Month, Turn, read
from bench.scripted_memory_model import Clerk
from parlour.infra.json_values import JsonObject
from parlour.memory.extraction import model_call, prompt
from parlour.memory.extraction.extraction_window import ExtractionWindow, MessageLine, render_transcript
from parlour.memory.extraction.model_answer import InvalidModelAnswer
from parlour.memory.extraction.model_answer import parse_answer as read_facts
from parlour.memory.summaries import summary_answer
from parlour.memory.summaries.summary_window import WindowMessage
from parlour.memory.summaries.summary_window import WindowTurn as Said
from parlour.models.model import Completion, ModelRequest
from parlour.prompts.assembly.segment import text_content

MONTHS = read(MONTH)


@pytest.fixture
def month() -> Month:
    return MONTHS


def stretch(turns: Sequence[Turn]) -> ExtractionWindow:
    lines = [
        MessageLine(number, uuid4(), direction, body, turn.at)
        for number, turn in enumerate(turns, 1)
        for direction, body in (("inbound", turn.user), ("outbound", turn.agent))
    ]
    return ExtractionWindow(tuple(lines), len(turns), is_full=False)


def facts_of(clerk: Clerk, turns: Sequence[Turn], tries: int = 1) -> str:
    asked = prompt.user_prompt(render_transcript(stretch(turns), "Asha"), [])
    return said(clerk, model_call.system_prompt("Asha"), asked, tries)


def said(clerk: Clerk, system: str, asked: str, tries: int = 1) -> str:
    words: JsonObject = {"role": "user", "content": [text_content(asked)]}
    request = ModelRequest("m", 1_000, (), (text_content(system),), (words,) * tries)
    (part,) = clerk.stream(request, seconds_left=9.0)
    assert isinstance(part, Completion)
    return str(part.blocks[0]["text"])


def test_it_answers_every_message_with_what_the_script_says_of_it(month: Month) -> None:
    clerk = Clerk(month)
    for visit in month.sessions:
        clerk.extractions = 0  # no broken answer
        given = read_facts(facts_of(clerk, visit.turns))
        wanted = [one for turn in visit.turns for one in (*turn.right, *turn.wrong)]
        assert [(one.key, one.value) for one in given.facts] == [
            (one.key, one.value) for one in wanted if one.value is not None
        ]
        assert given.malformed_count == sum(one.value is None for one in wanted)
        numbers = {line.body: number for number, line in stretch(visit.turns).numbered_user_lines().items()}
        named = [
            numbers[turn.user] for turn in visit.turns for one in (*turn.right, *turn.wrong) if one.value is not None
        ]
        assert [one.line_numbers for one in given.facts] == [(number,) for number in named]


def test_a_seventh_answer_is_no_json_until_it_is_asked_for_again(month: Month) -> None:
    clerk = Clerk(month, extractions=6)
    turns = month.sessions[0].turns
    with pytest.raises(InvalidModelAnswer):
        read_facts(facts_of(clerk, turns))
    assert read_facts(facts_of(clerk, turns, tries=3)).facts


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


def test_it_is_a_model_whose_answers_are_json(month: Month) -> None:
    assert json.loads(facts_of(Clerk(month), month.sessions[0].turns))["episodes"]
