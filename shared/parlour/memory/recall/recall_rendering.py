"""Facts and episodes as candidates for a prompt. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from parlour.memory.facts.fact import last_day_before
from parlour.memory.facts.own_text import own_text
from parlour.prompts.assembly.segment import Item, Source, SourceKind
from parlour.text.words import words

FACT_TABLE, EPISODE_TABLE, MESSAGE_TABLE = "facts", "episodes", "messages"
"""The tables that such candidates name as their source."""

WORD_WEIGHT, CONFIDENCE_WEIGHT, AGE_WEIGHT, USE_WEIGHT = 0.4, 0.25, 0.2, 0.15
"""What makes a fact worth telling: that it shares words with what is asked, that it is sure, that it was said lately,
and that replies used it when it was told. The words weigh most: thirty facts say little about one question."""

AGE_DECAY_SECONDS = 90 * 86_400
"""After three months without being said again a fact or an episode has kept a third of what its age is worth."""

_CERTAIN_CONFIDENCE = 0.8
"""Below this a fact is told as one that is not sure."""

_MAX_STATEMENT_CHARS = 240

_SENTENCE = re.compile(r"[^.!?\n\u0964]+[.!?\n\u0964]*")

FIRST_PERSON_WORDS = frozenset(
    [
        "i",
        "my",
        "mine",
        "we",
        "our",
        "ours",
        "ich",
        "mein",
        "meine",
        "meinen",
        "meinem",
        "meiner",
        "wir",
        "unser",
        "unsere",
        "yo",
        "mi",
        "mis",
        "mío",
        "mía",
        "soy",
        "tengo",
        "prefiero",
        "nosotros",
        "nuestro",
        "nuestra",
        "je",
        "j",
        "mon",
        "ma",
        "mes",
        "nous",
        "notre",
        "nos",
        "मैं",
        "मेरा",
        "मेरी",
        "मेरे",
        "मुझे",
        "हम",
        "हमारा",
        "हमारी",
        "हमारे",
        "main",
        "mera",
        "meri",
        "mere",
        "mujhe",
        "hum",
        "hamara",
        "मी",
        "माझा",
        "माझी",
        "माझे",
        "मला",
        "आम्ही",
        "आमचा",
        "आमची",
        "आमचे",
    ]
)
"""Words by which people speak of themselves."""

#: How a fact is told that may be over: once with the request to ask, then until the user says it again.
ASK_ONCE, IN_DOUBT = "(may be over: when it fits, ask once whether it still holds)", "(may be over)"

_SCOPE_LABELS = {"human": "(you) ", "team": "(team) "}
"""Whose facts they are that are not about the user."""


@dataclass(frozen=True, slots=True)
class RecalledFact:
    """A fact for a turn.

    relevance    what it shares with the question, between 0 and 1.
    holds_until  when it ends by itself.
    is_doubted   whether it may be over; is_asked: whether a turn was told to ask the user.
    """

    id: UUID
    scope: str
    key: str
    value: str
    confidence: float
    relevance: float
    holds_until: datetime | None = None
    is_doubted: bool = False
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class RecentStatement:
    """A message of another conversation of the user that no model has read yet."""

    message_id: UUID
    text: str


@dataclass(frozen=True, slots=True)
class RecalledEpisode:
    """What came of an earlier conversation; `until_at`: when that was."""

    id: UUID
    text: str
    until_at: datetime
    row_id: UUID
    classification: int
    score: float


def render_facts(facts: Sequence[RecalledFact]) -> list[Item]:
    """Facts, by their keys. Where there is no room for all, those that the question touches stay, and of the others
    those that are sure (design section 7, layer 6)."""
    ordered = sorted(facts, key=lambda one: (one.scope, one.key, str(one.id)))
    return [
        Item(
            SourceKind.FACTS,
            render_fact(one),
            Source(FACT_TABLE, str(one.id)),
            score=(one.relevance + one.confidence) / 2,
            title=one.key,
        )
        for one in ordered
    ]


def render_fact(fact: RecalledFact) -> str:
    """One fact in one line."""
    unsure = "" if fact.confidence >= _CERTAIN_CONFIDENCE else "(not sure) "
    until = f"(until {last_day_before(fact.holds_until).isoformat()}) " if fact.holds_until else ""
    doubt = (IN_DOUBT if fact.is_asked else ASK_ONCE) + " " if fact.is_doubted else ""
    notes = f"{_SCOPE_LABELS.get(fact.scope, '')}{unsure}{until}{doubt}"
    return f"- {notes}{fact.key}: {' '.join(fact.value.split())}"


def render_statements(statements: Sequence[RecentStatement]) -> list[Item]:
    """Return what the user said of themselves elsewhere minutes ago, in their own words, oldest first.

    No fact says it yet. Questions and orders are of that conversation alone and are left out.
    """
    return [
        Item(
            SourceKind.FACTS,
            f'- (said just now in another conversation, not yet confirmed) "{text}"',
            Source(MESSAGE_TABLE, str(one.message_id)),
            score=1.0,
            title="said just now",
        )
        for one in statements
        if (text := _about_themselves(own_text(one.text))[:_MAX_STATEMENT_CHARS])
    ]


def _about_themselves(text: str) -> str:
    """Return the sentences of a text in which its writer speaks of themselves and asks nothing."""
    sentences = (" ".join(sentence.split()) for sentence in _SENTENCE.findall(text))
    return " ".join(
        sentence for sentence in sentences if "?" not in sentence and not FIRST_PERSON_WORDS.isdisjoint(words(sentence))
    )


def render_episodes(episodes: Sequence[RecalledEpisode]) -> list[Item]:
    """Episodes, the earliest first, each with its day in UTC. With it goes its searchable row: what that is closed
    with, the episode is."""
    ordered = sorted(episodes, key=lambda one: (one.until_at, str(one.id)))
    return [
        Item(
            SourceKind.EPISODES,
            f"- [{one.until_at.astimezone(UTC).date().isoformat()}] {' '.join(one.text.split())}",
            Source(EPISODE_TABLE, str(one.id)),
            score=one.score,
            classification=one.classification,
            title="an earlier conversation",
            further_sources=(Source("context_rows", str(one.row_id)),),
        )
        for one in ordered
    ]


def item_content(item: Item) -> str:
    """Return an item's text without its label: the value of a fact, the text of an episode."""
    lead = f"{item.title}: " if item.source.table == FACT_TABLE else "] "
    return item.text.partition(lead)[2] or item.text
