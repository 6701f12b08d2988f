"""What a model answered, read strictly. Pure."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from parlour.infra.jsonable import Json, JsonObject
from parlour.memory.facts.fact import LONGEST_VALUE

MOST_FACTS, MOST_EPISODES = 40, 6
"""Of one answer; further ones are left out."""

_LONGEST_EPISODE = 600
_FENCED = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)


class Unusable(ValueError):
    """The answer is not the JSON object that was asked for; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class FactItem:
    """A fact as a model gave it: the numbers of the lines that say it, and how sure it is."""

    key: str
    value: str
    confidence: float
    lines: tuple[int, ...]
    ends: bool = False


@dataclass(frozen=True, slots=True)
class EpisodeItem:
    """An episode as a model gave it."""

    text: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """What could be read, and how many entries could not."""

    facts: tuple[FactItem, ...]
    episodes: tuple[EpisodeItem, ...]
    malformed: int = 0


def read(answer: str) -> Answered:
    """The facts and episodes of an answer. Unusable when it is no such object; a fence around it is let pass, words are
    not."""
    found = _object(answer)
    facts, episodes = _list(found, "facts"), _list(found, "episodes", optional=True)
    read_facts = [_fact(one) for one in facts]
    read_episodes = [_episode(one) for one in episodes]
    malformed = read_facts.count(None) + read_episodes.count(None)
    return Answered(
        tuple(one for one in read_facts if one)[:MOST_FACTS],
        tuple(one for one in read_episodes if one)[:MOST_EPISODES],
        malformed,
    )


def _object(answer: str) -> JsonObject:
    text = answer.strip()
    fenced = _FENCED.match(text)
    try:
        found = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        raise Unusable("it is no JSON") from None
    if not isinstance(found, dict):
        raise Unusable("it is no object")
    return found


def _list(found: JsonObject, name: str, *, optional: bool = False) -> Sequence[Json]:
    value = found.get(name, [] if optional else None)
    if not isinstance(value, list):
        raise Unusable(f'"{name}" is no list')
    return value


def _fact(one: Json) -> FactItem | None:
    if not isinstance(one, dict):
        return None
    key, value, sure, ends = one.get("key"), one.get("value", ""), one.get("confidence"), one.get("ends", False)
    lines = _lines(one.get("messages"))
    if not isinstance(key, str) or not isinstance(value, str) or not isinstance(ends, bool) or lines is None:
        return None
    said, confidence = clean(value), _confidence(sure)
    if not clean(key) or confidence is None or len(said) > LONGEST_VALUE or not (said or ends):
        return None
    return FactItem(clean(key), said, confidence, lines, ends)


def _episode(one: Json) -> EpisodeItem | None:
    if not isinstance(one, dict):
        return None
    text, lines = one.get("text"), _lines(one.get("messages"))
    said = clean(text) if isinstance(text, str) else ""
    return EpisodeItem(said, lines) if said and lines and len(said) <= _LONGEST_EPISODE else None


def _confidence(sure: Json) -> float | None:
    if isinstance(sure, bool) or not isinstance(sure, int | float):
        return None
    return float(sure) if 0 <= sure <= 1 else None


def _lines(written: Json) -> tuple[int, ...] | None:
    """The numbers of lines; None for anything else."""
    if not isinstance(written, list):
        return None
    numbers = [one for one in written if isinstance(one, int) and not isinstance(one, bool)]
    return tuple(dict.fromkeys(numbers)) if len(numbers) == len(written) else None


def clean(text: str) -> str:
    """On one line, without what the database refuses."""
    return " ".join(text.replace("\0", "").encode("utf-8", "ignore").decode().split())
