"""A model's extraction answer, parsed strictly. Pure."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from parlour.infra.json_values import Json, JsonObject
from parlour.memory.facts.fact import MAX_VALUE_CHARS

MAX_FACTS, MAX_EPISODES = 40, 6
"""Of one answer; further ones are left out."""

_MAX_EPISODE_CHARS = 600
_CODE_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)


class InvalidModelAnswer(ValueError):
    """The answer is not the JSON object that was asked for; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class ProposedFact:
    """A fact as a model gave it: the numbers of the lines that say it, and how sure it is."""

    key: str
    value: str
    confidence: float
    line_numbers: tuple[int, ...]
    is_retraction: bool = False


@dataclass(frozen=True, slots=True)
class ProposedEpisode:
    """An episode as a model gave it."""

    text: str
    line_numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExtractionAnswer:
    """What could be read, and how many entries could not."""

    facts: tuple[ProposedFact, ...]
    episodes: tuple[ProposedEpisode, ...]
    malformed_count: int = 0


def parse_answer(answer: str) -> ExtractionAnswer:
    """Return the facts and episodes of an answer.

    A code fence around the JSON is allowed, other text is not. Raises InvalidModelAnswer for anything else.
    """
    found = _parse_object(answer)
    facts, episodes = _list_field(found, "facts"), _list_field(found, "episodes", optional=True)
    read_facts = [_parse_fact(one) for one in facts]
    read_episodes = [_parse_episode(one) for one in episodes]
    malformed = read_facts.count(None) + read_episodes.count(None)
    return ExtractionAnswer(
        tuple(one for one in read_facts if one)[:MAX_FACTS],
        tuple(one for one in read_episodes if one)[:MAX_EPISODES],
        malformed,
    )


def _parse_object(answer: str) -> JsonObject:
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


def _parse_fact(entry: Json) -> ProposedFact | None:
    if not isinstance(entry, dict):
        return None
    key, value, sure, ends = entry.get("key"), entry.get("value", ""), entry.get("confidence"), entry.get("ends", False)
    lines = _parse_line_numbers(entry.get("messages"))
    if not isinstance(key, str) or not isinstance(value, str) or not isinstance(ends, bool) or lines is None:
        return None
    said, confidence = clean_text(value), _parse_confidence(sure)
    if not clean_text(key) or confidence is None or len(said) > MAX_VALUE_CHARS or not (said or ends):
        return None
    return ProposedFact(clean_text(key), said, confidence, lines, ends)


def _parse_episode(entry: Json) -> ProposedEpisode | None:
    if not isinstance(entry, dict):
        return None
    text, lines = entry.get("text"), _parse_line_numbers(entry.get("messages"))
    said = clean_text(text) if isinstance(text, str) else ""
    return ProposedEpisode(said, lines) if said and lines and len(said) <= _MAX_EPISODE_CHARS else None


def _parse_confidence(sure: Json) -> float | None:
    if isinstance(sure, bool) or not isinstance(sure, int | float):
        return None
    return float(sure) if 0 <= sure <= 1 else None


def _parse_line_numbers(numbers_json: Json) -> tuple[int, ...] | None:
    """Return the line numbers; None for anything but a list of integers."""
    if not isinstance(numbers_json, list):
        return None
    numbers = [one for one in numbers_json if isinstance(one, int) and not isinstance(one, bool)]
    return tuple(dict.fromkeys(numbers)) if len(numbers) == len(numbers_json) else None


def clean_text(text: str) -> str:
    """On one line, without what the database refuses."""
    return " ".join(text.replace("\0", "").encode("utf-8", "ignore").decode().split())
