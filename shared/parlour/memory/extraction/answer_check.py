"""Checks of a model's answer against the user's own messages: accepted facts and episodes, and rejections. Pure."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

from parlour.memory.extraction import second_look
from parlour.memory.extraction.extraction_window import ExtractionWindow, MessageLine
from parlour.memory.extraction.model_answer import ExtractionAnswer, ProposedEpisode, ProposedFact
from parlour.memory.extraction.second_look import Review, ReviewResult
from parlour.memory.facts import explicit_facts, fact_keys, grounding, merge_rules
from parlour.memory.facts.fact import (
    MAX_MODEL_CONFIDENCE,
    FactCandidate,
    KnownFact,
    ModelAnswers,
    Origin,
    RejectedDecision,
    RejectedFact,
)
from parlour.memory.facts.own_text import own_text
from parlour.text.sensitive_data import is_sensitive
from parlour.text.word_matching import contains_word, informative_words, speaks_of_oneself
from parlour.text.words import words

#: Decisions about a candidate that change or end what is known.
_CHANGES = frozenset({"contradicts", "corrects", "retracted"})

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
    """The accepted facts and episodes of an answer, and the rejected proposals with their reasons.

    reviews      proposals that need a second look before they are accepted.
    doubted_ids  known facts of which the second look cannot tell whether they still hold.
    """

    candidates: tuple[FactCandidate, ...]
    rejected: tuple[RejectedFact, ...]
    episodes: tuple[NewEpisode, ...]
    reviews: tuple[Review, ...] = ()
    doubted_ids: tuple[UUID, ...] = ()

    def with_reviews(self, result: ReviewResult) -> "CheckedAnswer":
        """Return the answer after the second look. Values that exclude each other are rejected, supported or not.

        What is over comes before what holds: both may be of one key.
        """
        proposed = sorted((*self.candidates, *result.candidates), key=lambda one: not one.is_retraction)
        excluded = [one for one in proposed if any(_excludes(one, other) for other in proposed)]
        contradicting = (
            RejectedFact(one.key, "contradicting", "", one.confidence, one.message_ids, one.origin, one.answers)
            for one in excluded
        )
        return CheckedAnswer(
            tuple(one for one in proposed if one not in excluded),
            (*self.rejected, *result.rejected, *contradicting),
            self.episodes,
            doubted_ids=result.doubted_ids,
        )


def check_answer(
    answer: ExtractionAnswer, window: ExtractionWindow, known: Sequence[KnownFact], origin: Origin = "extracted"
) -> CheckedAnswer:
    """Check an answer against its window.

    The candidates include the user's explicit retractions: the user may have retracted a fact before a model found it.
    """
    by_number = window.numbered_user_lines()
    candidates: list[FactCandidate] = [
        one for one in explicit_facts.find_explicit_facts(window.user_messages) if one.is_retraction
    ]
    refusals: list[RejectedFact] = [RejectedFact("", "malformed", "entry") for _ in range(answer.malformed_count)]
    refusals += [RejectedFact("", "too_many") for _ in range(answer.surplus_count)]
    proposed: list[tuple[FactCandidate, int]] = []
    impersonal: set[int] = set()
    for item in answer.facts:
        found = _check_fact(item, answer.facts, by_number, known, origin)
        if isinstance(found, FactCandidate):
            proposed.append((found, item.line_number))
            if not speaks_of_oneself(item.quote, own_text(by_number[item.line_number].body)):
                impersonal.add(id(found))
        else:
            refusals.append(found)
    pairs = _pair_endings([one for one, _ in proposed], known)
    paired = {id(ending) for ending, _ in pairs.values()}
    proposed = [(one, number) for one, number in proposed if id(one) not in paired]
    reviews = {id(review.candidate): review for review in _find_reviews(proposed, pairs, impersonal, known)}
    candidates += [one for one, _ in proposed if id(one) not in reviews]
    episodes: list[NewEpisode] = []
    for told in answer.episodes:
        kept = _check_episode(told, by_number, window)
        if isinstance(kept, NewEpisode):
            episodes.append(kept)
        else:
            refusals.append(kept)
    return CheckedAnswer(
        tuple(candidates),
        tuple(replace(one, origin=origin) for one in refusals),
        tuple(episodes),
        tuple(reviews.values()),
    )


def _check_fact(
    item: ProposedFact,
    proposals: Sequence[ProposedFact],
    by_number: Mapping[int, MessageLine],
    known: Sequence[KnownFact],
    origin: Origin,
) -> FactCandidate | RejectedFact:
    key, line = fact_keys.proposed_key(item.key), by_number.get(item.line_number)
    answers = ModelAnswers(item.to_json())
    ids = (line.id,) if line else ()
    values = [fact.value for fact in known if fact.is_live and fact.key == key] + [
        other.value for other in proposals if other.line_number < item.line_number and other.key == item.key
    ]
    problem = _find_problem(item, key, line, values)
    if problem is not None or key is None or line is None:
        return RejectedFact(key or "", problem or "malformed", "", item.certainty, ids, origin, answers)
    return FactCandidate(
        key,
        item.value,
        min(item.certainty, MAX_MODEL_CONFIDENCE),
        origin,
        line.received_at,
        ids,
        is_retraction=item.is_retraction,
        holds_until=_end_of_day(item),
        answers=answers,
    )


def _find_problem(
    item: ProposedFact, key: str | None, line: MessageLine | None, known_values: Sequence[str]
) -> RejectedDecision | None:
    """Return why the proposal is refused, as far as code can tell."""
    if key is None or line is None:
        return "unknown_key" if key is None else "unknown_message"
    if is_sensitive(key, item.value):
        return "sensitive"
    if not grounding.is_quoted(item.quote, line.body):
        return "quote_not_found"
    return _find_value_problem(item, key, known_values) or _find_scope_problem(item, line)


def _find_value_problem(item: ProposedFact, key: str, known_values: Sequence[str]) -> RejectedDecision | None:
    """Return why the value is refused; what is over may be named in other words than the user's."""
    if item.is_retraction:
        return None
    if not fact_keys.is_valid_value(key, item.value):
        return "malformed"
    return None if grounding.is_grounded(item.value, item.quote, known_values) else "not_in_user_text"


def _find_scope_problem(item: ProposedFact, line: MessageLine) -> RejectedDecision | None:
    """Return why a proposal about this subject, for this time, becomes no fact about the user."""
    if item.subject == "other":
        return "other_person"
    if item.duration in ("temporary", "planned", "supposed"):
        return item.duration
    end = _end_of_day(item)
    return "temporary" if end is not None and (item.is_retraction or end <= line.received_at) else None


def _end_of_day(item: ProposedFact) -> datetime | None:
    """Return the end of the last day on which a fact holds, in UTC."""
    return datetime.combine(item.until, time(), UTC) + timedelta(days=1) if item.until else None


def _find_reviews(
    proposed: Sequence[tuple[FactCandidate, int]],
    pairs: Mapping[int, tuple[FactCandidate, tuple[KnownFact, ...]]],
    impersonal: Container[int],
    known: Sequence[KnownFact],
) -> Iterator[Review]:
    """Yield the second looks that the candidates need; the end that belongs to a new value is looked at with it.

    impersonal  ids of the candidates whose words do not name the writer.
    """
    every = [one for one, _ in proposed]
    for candidate, number in proposed:
        ending, old = pairs.get(id(candidate), (None, ()))
        if old:
            yield Review(candidate, number, old, ending)
        elif review := _find_review(candidate, number, every, known, is_impersonal=id(candidate) in impersonal):
            yield review


def _find_review(
    candidate: FactCandidate,
    line_number: int,
    proposed: Sequence[FactCandidate],
    known: Sequence[KnownFact],
    *,
    is_impersonal: bool,
) -> Review | None:
    """Return the second look that a candidate needs which changes or ends something, is critical, uncertain, or of what
    everybody has, such as a city or a diet, in words that do not name the writer."""
    live = [fact for fact in known if fact.is_live]
    is_of_group = candidate.answers is not None and candidate.answers.first.get("subject") == "group"
    may_be_anybodys = is_impersonal and candidate.key in fact_keys.VOCABULARY
    is_uncertain = candidate.confidence < second_look.MIN_CERTAINTY or is_of_group or may_be_anybodys
    others = [one for one in proposed if one is not candidate and one.key == candidate.key]
    is_denied = any(_excludes(candidate, other) for other in others)
    if candidate.is_retraction:
        meant = merge_rules.retracted_facts(candidate, live)
        return Review(candidate, line_number, tuple(meant)) if meant or others else None
    (resolved,) = merge_rules.resolve_keys(candidate, live)
    verdict = merge_rules.decide(resolved, [fact for fact in known if fact.key == resolved.key])
    if verdict.decision in _CHANGES or (verdict.decision == "refines" and resolved.holds_until):
        return Review(candidate, line_number, verdict.compared)
    if is_denied:
        return Review(candidate, line_number)
    is_change = any(other.value != candidate.value for other in others) and not fact_keys.has_several_values(
        candidate.key
    )
    is_open = verdict.decision in ("new", "refines")
    if is_open and (is_uncertain or is_change or fact_keys.is_critical(candidate.key)):
        return Review(candidate, line_number)
    return None


def _pair_endings(
    proposed: Sequence[FactCandidate], known: Sequence[KnownFact]
) -> dict[int, tuple[FactCandidate, tuple[KnownFact, ...]]]:
    """Return each end that belongs to a new value with the known facts that it means, by the id of the new candidate:
    one message says that an old value of a key is over, and what holds instead.

    An end that means the new value contradicts it, and is no part of a change.
    """
    live = [fact for fact in known if fact.is_live]
    pairs: dict[int, tuple[FactCandidate, tuple[KnownFact, ...]]] = {}
    for ending in proposed:
        if not ending.is_retraction or fact_keys.has_several_values(ending.key):
            continue
        meant = merge_rules.retracted_facts(ending, live)
        for one in proposed:
            if one.is_retraction or (one.key, one.message_ids) != (ending.key, ending.message_ids):
                continue
            old = [fact for fact in meant if not merge_rules.is_same_value(fact.value, one.value)]
            is_contradiction = (
                len(old) < len(meant) if not ending.value else merge_rules.is_same_value(ending.value, one.value)
            )
            if not is_contradiction:
                pairs.setdefault(id(one), (ending, tuple(old)))
    return pairs


def _excludes(one: FactCandidate, other: FactCandidate) -> bool:
    """Return whether two statements of one message cannot both be so: that a value holds and is over, or two values of
    a key of which a person has exactly one."""
    if one is other or (one.key, one.message_ids) != (other.key, other.message_ids):
        return False
    if one.is_retraction != other.is_retraction:
        is_bare = not (one.value and other.value) and not fact_keys.has_several_values(one.key)
        return is_bare or merge_rules.is_same_value(one.value, other.value)
    if one.is_retraction or one.key not in fact_keys.EXCLUSIVE_KEYS:
        return False
    return not (
        merge_rules.is_same_value(one.value, other.value)
        or merge_rules.is_more_specific(one.value, other.value)
        or merge_rules.is_more_specific(other.value, one.value)
    )


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
