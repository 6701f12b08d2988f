"""Checks of a model's answer against the user's own messages: accepted facts and episodes, and rejections. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.memory.extraction.extraction_window import ExtractionWindow, MessageLine
from parlour.memory.extraction.model_answer import ExtractionAnswer, ProposedEpisode, ProposedFact
from parlour.memory.facts import evidence, explicit_facts, fact_keys
from parlour.memory.facts.evidence import own_text
from parlour.memory.facts.fact import MAX_MODEL_CONFIDENCE, FactCandidate, Origin, RejectedFact
from parlour.text.sensitive_data import is_sensitive
from parlour.text.word_matching import contains_value, contains_word, informative_words
from parlour.text.words import words

_MIN_USER_WORD_SHARE = 0.5
"""Of an episode's telling words, how many are the user's."""


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """An episode that passed the checks: its text, the user's messages behind it, and their first and last time."""

    text: str
    message_ids: tuple[UUID, ...]
    from_at: datetime
    until_at: datetime
    origin: Origin = "extracted"


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """The accepted facts and episodes of an answer, and the rejected proposals with their reasons."""

    candidates: tuple[FactCandidate, ...]
    rejected: tuple[RejectedFact, ...]
    episodes: tuple[NewEpisode, ...]


def check_answer(answer: ExtractionAnswer, window: ExtractionWindow, origin: Origin = "extracted") -> CheckedAnswer:
    """Check an answer against its window.

    The candidates include the user's explicit retractions: the user may have retracted a fact before a model found it.
    """
    by_number = window.numbered_user_lines()
    candidates: list[FactCandidate] = [
        one for one in explicit_facts.find_explicit_facts(window.user_messages) if one.is_retraction
    ]
    refusals: list[RejectedFact] = [RejectedFact("", "malformed", "entry") for _ in range(answer.malformed_count)]
    for item in answer.facts:
        found = _check_fact(item, by_number, origin)
        (candidates if isinstance(found, FactCandidate) else refusals).append(found)  # type: ignore[arg-type]
    episodes: list[NewEpisode] = []
    for told in answer.episodes:
        kept = _check_episode(told, by_number, window)
        if isinstance(kept, NewEpisode):
            episodes.append(kept)
        else:
            refusals.append(kept)
    return CheckedAnswer(tuple(candidates), tuple(replace(one, origin=origin) for one in refusals), tuple(episodes))


def _check_fact(
    item: ProposedFact, by_number: Mapping[int, MessageLine], origin: Origin
) -> FactCandidate | RejectedFact:
    key = fact_keys.normalize_key(item.key)
    named = [by_number[number] for number in item.line_numbers if number in by_number]
    ids = tuple(line.id for line in named)
    if key is None or not (item.is_retraction or fact_keys.is_valid_value(key, item.value)):
        return RejectedFact(key or "", "malformed", "key" if key is None else "value", item.confidence, ids)
    if len(named) < len(item.line_numbers) or not named:
        return RejectedFact(key, "unknown_message", "", item.confidence, ids)
    if is_sensitive(key, item.value):
        return RejectedFact(key, "sensitive", "", item.confidence, ids)
    problem = evidence.find_problem(key, item.value, [line.body for line in named], is_retraction=item.is_retraction)
    if problem is not None:
        return RejectedFact(key, problem, "", item.confidence, ids)
    at = max(line.received_at for line in _lines_stating(named, item.value))
    return FactCandidate(
        key, item.value, min(item.confidence, MAX_MODEL_CONFIDENCE), origin, at, ids, is_retraction=item.is_retraction
    )


def _lines_stating(named: Sequence[MessageLine], value: str) -> Sequence[MessageLine]:
    """Return the named messages that contain the value; all of them when none contains it alone."""
    return [line for line in named if contains_value(own_text(line.body), value)] or named


def _check_episode(
    item: ProposedEpisode, by_number: Mapping[int, MessageLine], window: ExtractionWindow
) -> NewEpisode | RejectedFact:
    """Check that most informative words of an episode, and all with a digit, are the user's.

    The episode's messages include those of each turn whose reply it quotes. If that reply's sources are restricted
    later, the episode is withheld, too.
    """
    named = [by_number[number] for number in item.line_numbers if number in by_number]
    ids = tuple(line.id for line in named)
    if not named or len(named) < len(item.line_numbers):
        return RejectedFact("episode", "unknown_message", "", None, ids)
    if is_sensitive("", item.text):
        return RejectedFact("episode", "sensitive", "", None, ids)
    own = frozenset(words("\n".join(own_text(line.body) for line in by_number.values())))
    wanted = informative_words(item.text)
    figures = [word for word in wanted if any(map(str.isdigit, word))]
    shared = sum(contains_word(own, word) for word in wanted)
    if not all(contains_word(own, word) for word in figures) or shared < _MIN_USER_WORD_SHARE * len(wanted):
        return RejectedFact("episode", "not_in_user_text", "", None, ids)
    times = [line.received_at for line in named]
    return NewEpisode(item.text, (*ids, *_messages_of_quoted_replies(wanted, named, window)), min(times), max(times))


def _messages_of_quoted_replies(
    episode_words: Sequence[str], named: Sequence[MessageLine], window: ExtractionWindow
) -> list[UUID]:
    """Return the user's messages of other turns whose replies contain words that the named messages lack."""
    said = frozenset(words("\n".join(own_text(line.body) for line in named)))
    foreign = [word for word in episode_words if not contains_word(said, word)]
    turns = {
        line.turn_number
        for line in window.lines
        if not line.is_from_user and any(contains_word(frozenset(words(line.body)), word) for word in foreign)
    }
    ids = {line.id for line in named}
    return [line.id for line in window.lines if line.is_from_user and line.turn_number in turns and line.id not in ids]


def rejected_window(problem: str = "") -> RejectedFact:
    """Return the row for a skipped window: with this problem, or "answer" for an answer that was unreadable twice."""
    return RejectedFact("", "malformed", problem or "answer")
