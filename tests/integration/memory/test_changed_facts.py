"""One message ends a fact and tells the next one: the next one is known, the old one is over, others stay.

The model is scripted: its first answers come in every form that models give, its second look answers rightly. That
tests what becomes of a model's answers, not how well a model reads.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel

from parlour.infra.json_values import JsonObject
from parlour.memory.extraction import second_look
from parlour.memory.facts import fact_keys
from parlour.models.model import Completion, ModelRequest, StreamPart, TokenUsage, content_blocks
from tests.conversation_harness import ConversationHarness
from tests.integration.memory.extraction_harness import ExtractionConversation, extraction_answer, proposed_fact

_NOTE = re.compile(r"^(\d+)\. (over: )?(.+?) = (.*)$", re.MULTILINE)

#: Forms of a first answer that say which value is over.
NAMED_ENDS = ("end first", "new first")

#: The part of changes that is known afterwards, at least.
MIN_KNOWN_SHARE = 0.9


class Change(BaseModel):
    """A message with the facts before and after it, as [key, value], and the values that end and that stay."""

    language: str
    before: list[tuple[str, str]]
    message: str
    after: list[tuple[str, str]]
    gone: list[str]
    stays: list[str]

    @property
    def ended(self) -> list[tuple[str, str]]:
        return [(key, value) for key, value in self.before if value in self.gone]


def read_changes(name: str) -> list[Change]:
    found = json.loads((Path(__file__).parent / name).read_text("utf-8"))
    keys = found.get("keys", {})
    changes = [Change.model_validate(one) for one in found["messages"]]
    for change in changes:
        change.before = [(keys.get(key, key), value) for key, value in change.before]
        change.after = [(keys.get(key, key), value) for key, value in change.after]
    return changes


def first_answers(change: Change) -> dict[str, JsonObject]:
    """Return the first answer to a change in each form that models give, by its name."""
    line = 1

    def end(key: str, value: str) -> JsonObject:
        return proposed_fact(key, value, line, change.message, polarity="ends")

    new = [proposed_fact(key, value, line, change.message) for key, value in change.after]
    named = [end(key, value) for key, value in change.ended]
    bare = [end(key, "") for key in dict.fromkeys(key for key, _ in change.ended)]
    return {
        "end first": extraction_answer(*named, *new),
        "new first": extraction_answer(*new, *named),
        "end without a value": extraction_answer(*bare, *new),
        "new alone": extraction_answer(*new),
    }


@dataclass
class ChangeReader:
    """A model that gives one first answer, and answers notes of the second look as the change says."""

    first: JsonObject
    holds: set[tuple[str, str]]
    over: set[str]
    provider: str = "anthropic"

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        is_second = request.system[0]["text"] == second_look.SYSTEM_PROMPT
        answer = self._notes(request) if is_second else self.first
        yield Completion(({"type": "text", "text": json.dumps(answer)},), "end_turn", TokenUsage(1, 1))

    def _notes(self, request: ModelRequest) -> JsonObject:
        asked = str(content_blocks(request.messages[0])[0]["text"])
        return {
            number: "supports"
            if (set(value.split("; ")) <= self.over if over else (key, value) in self.holds)
            else "not said"
            for number, over, key, value in _NOTE.findall(asked)
        }


def play(conversation: ConversationHarness, change: Change, first: JsonObject) -> set[tuple[str, str]]:
    """Return what is known after the change: key and value."""
    talk = ExtractionConversation(conversation)
    talk.say(". ".join(value for _, value in change.before))
    known = {(key_of(key), value) for key, value in change.before}
    facts = extraction_answer(*(proposed_fact(key, value, 1) for key, value in change.before))
    talk.run_extraction(models={"anthropic": ChangeReader(facts, known, set())})
    assert known_facts(talk) == known
    talk.say(change.message)
    holds = {(key_of(key), value) for key, value in change.after}
    talk.run_extraction(models={"anthropic": ChangeReader(first, holds, set(change.gone))})
    return known_facts(talk)


def key_of(key: str) -> str:
    return fact_keys.proposed_key(key) or key


def known_facts(talk: ExtractionConversation) -> set[tuple[str, str]]:
    rows = talk.desk.query(f"SELECT key, value FROM facts WHERE user_id = '{talk.user}' AND valid_until IS NULL")
    return {(str(key), str(value)) for key, value in rows}


@pytest.mark.parametrize("name", ["changed_facts.json", "changed_facts_of_others.json"])
def test_what_replaces_a_fact_is_known_and_nothing_else_ends(conversation: ConversationHarness, name: str) -> None:
    unknown, outdated, lost, tried = [], [], [], 0
    for change in read_changes(name):
        for form, first in first_answers(change).items():
            known = play(conversation, change, first)
            tried += 1
            case = (change.message, form, sorted(known))
            if not {(key_of(key), value) for key, value in change.after} <= known:
                unknown.append(case)
            if form in NAMED_ENDS and any((key_of(key), value) in known for key, value in change.ended):
                outdated.append(case)
            if any((key_of(key), value) not in known for key, value in change.before if value in change.stays):
                lost.append(case)
    assert lost == []
    assert outdated == []
    assert len(unknown) <= (1 - MIN_KNOWN_SHARE) * tried, unknown
