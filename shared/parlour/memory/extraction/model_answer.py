"""A model's extraction answer, parsed strictly. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parlour.infra.json_values import Json, JsonObject
from parlour.memory.facts.fact import MAX_VALUE_CHARS

MAX_FACTS, MAX_EPISODES = 40, 6
"""Of one answer; further proposals are refused."""

type Subject = Literal["self", "other", "group"]
type Polarity = Literal["holds", "ends"]
type Duration = Literal["lasting", "until", "temporary", "planned", "supposed"]

_SUBJECTS: Mapping[str, Subject] = {"self": "self", "other": "other", "group": "group"}

_MAX_EPISODE_CHARS, _MAX_QUOTE_CHARS = 600, 500
_CODE_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)


class InvalidModelAnswer(ValueError):
    """The answer is not the JSON object that was asked for; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class ProposedFact:
    """A fact as a model proposes it.

    line_number  the numbered line that says it; quote: its words there.
    value        what holds, or what is over; "" where the key says it.
    until        the last day of a fact with the duration "until".
    """

    key: str
    value: str
    certainty: float
    line_number: int
    quote: str
    subject: Subject = "self"
    polarity: Polarity = "holds"
    duration: Duration = "lasting"
    until: date | None = None

    @property
    def is_retraction(self) -> bool:
        return self.polarity == "ends"

    def to_json(self) -> JsonObject:
        """Return the model's judgement without any of the user's words."""
        return {
            "subject": self.subject,
            "polarity": self.polarity,
            "duration": self.duration,
            "certainty": self.certainty,
        }


@dataclass(frozen=True, slots=True)
class ProposedEpisode:
    """An episode as a model gave it."""

    text: str
    line_numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExtractionAnswer:
    """The entries that are readable, and how many are not, or are above the limit."""

    facts: tuple[ProposedFact, ...]
    episodes: tuple[ProposedEpisode, ...]
    malformed_count: int = 0
    surplus_count: int = 0


def parse_answer(answer: str) -> ExtractionAnswer:
    """Return the facts and episodes of an answer.

    A code fence around the JSON is allowed, other text is not. Raises InvalidModelAnswer for anything else.
    """
    found = parse_object(answer)
    facts, episodes = _list_field(found, "facts"), _list_field(found, "episodes", optional=True)
    read_facts = [_parse_fact(one) for one in facts]
    read_episodes = [_parse_episode(one) for one in episodes]
    malformed = read_facts.count(None) + read_episodes.count(None)
    readable = tuple(one for one in read_facts if one)
    return ExtractionAnswer(
        readable[:MAX_FACTS],
        tuple(one for one in read_episodes if one)[:MAX_EPISODES],
        malformed,
        len(readable[MAX_FACTS:]),
    )


def parse_object(answer: str) -> JsonObject:
    """Return the JSON object of an answer, with a code fence around it or without. Raises InvalidModelAnswer."""
    text = answer.strip()
    fenced = _CODE_FENCE.match(text)
    try:
        found = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        raise InvalidModelAnswer("it is no JSON") from None
    if not isinstance(found, dict):
        raise InvalidModelAnswer("it is no object")
    return found


def _list_field(answer_object: JsonObject, name: str, *, optional: bool = False) -> Sequence[Json]:
    value = answer_object.get(name, [] if optional else None)
    if not isinstance(value, list):
        raise InvalidModelAnswer(f'"{name}" is no list')
    return value


class _FactEntry(BaseModel):
    """The form of an entry, without what is as usual; other fields are ignored."""

    model_config = ConfigDict(strict=True)

    message: int
    quote: str
    subject: str = "self"
    polarity: Polarity = "holds"
    duration: Duration = "lasting"
    certainty: float = Field(ge=0, le=1)
    key: str
    value: str = ""
    until: date | None = Field(default=None, strict=False)


def _parse_fact(entry: Json) -> ProposedFact | None:
    try:
        found = _FactEntry.model_validate(entry)
    except ValidationError:
        return None
    key, value, quote = map(clean_text, (found.key, found.value, found.quote))
    subject = _SUBJECTS.get(found.subject.partition(":")[0].strip().casefold())
    has_value = 0 < len(value) <= MAX_VALUE_CHARS or (not value and found.polarity == "ends")
    has_end = found.until is not None or found.duration != "until"
    if not (key and subject and has_value and has_end and 0 < len(quote) <= _MAX_QUOTE_CHARS):
        return None
    return ProposedFact(
        key,
        value,
        found.certainty,
        found.message,
        quote,
        subject,
        found.polarity,
        found.duration,
        found.until if found.duration == "until" else None,
    )


def _parse_episode(entry: Json) -> ProposedEpisode | None:
    if not isinstance(entry, dict):
        return None
    text, messages = entry.get("text"), entry.get("messages")
    said = clean_text(text) if isinstance(text, str) else ""
    if not said or len(said) > _MAX_EPISODE_CHARS or not isinstance(messages, list):
        return None
    numbers = [one for one in messages if isinstance(one, int) and not isinstance(one, bool)]
    if not numbers or len(numbers) < len(messages):
        return None
    return ProposedEpisode(said, tuple(dict.fromkeys(numbers)))


def clean_text(text: str) -> str:
    """On one line, without what the database refuses."""
    return " ".join(text.replace("\0", "").encode("utf-8", "ignore").decode().split())
