"""Facts, fact candidates, and the decisions about them. Pure; all writers and readers of facts use these types."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal
from uuid import UUID

from parlour.infra.json_values import JsonObject

type Origin = Literal["stated", "extracted", "consolidated", "edited"]
"""stated: in a fixed phrase (`explicit_facts`); extracted, consolidated: found by a model; edited: by a person."""

type EndReason = Literal[
    "refined", "contradicted", "corrected", "retracted", "expired", "edited", "deleted", "merged", "evicted"
]
"""Why a value holds no longer."""

type AcceptedDecision = Literal["new", "same", "refines", "corrects", "contradicts", "retracted"]
"""What changes something: a first value, the known one, a fuller one, the model's reading of the words that a rule read
another way, another value, none any more."""

type RejectedDecision = Literal[
    "duplicate",
    "weaker",
    "older",
    "nothing_to_retract",
    "low_confidence",
    "quote_not_found",
    "not_in_user_text",
    "unknown_message",
    "unknown_key",
    "sensitive",
    "malformed",
    "too_many",
    "other_person",
    "temporary",
    "planned",
    "supposed",
    "contradicting",
    "not_said",
    "unclear",
]
"""What changes nothing, and why.

duplicate           taken from the very messages that the fact was taken from, or one that was erased.
weaker              a model's, where a person edited the fact.
older               said before what is known by now, or before it, or everything, was retracted.
nothing_to_retract  retracted, and nothing of the kind is known.
low_confidence      below the confidence of anything that is stored.
quote_not_found     the quote does not stand in the user's own words of that message.
not_in_user_text    the quote does not contain the value.
unknown_message     it names no message of the user.
unknown_key         its key is neither in the vocabulary nor in an open room.
sensitive           a password, a card, a number of an identity paper: never stored.
malformed           it was unreadable, or there was no answer for the reason beside it.
too_many            one of more proposals than an answer may have.
other_person        about somebody else.
temporary, planned, supposed  true only for a while, later, or perhaps.
contradicting       one answer says two things that exclude each other.
not_said            the second look does not find it in the user's words.
unclear             the second look cannot tell.
"""

type FactDecision = AcceptedDecision | RejectedDecision | Literal["evicted"]
"""evicted: a known fact ended, for there were too many."""

type SecondAnswer = Literal["supports", "other person", "temporary", "not said", "unclear"]


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """What models said of a proposal; nothing of it is the user's text.

    first   {subject: "self", "other" or "group", polarity, duration, certainty}.
    second  the answer of the second look; None when it was not asked.
    """

    first: JsonObject
    second: SecondAnswer | None = None


MIN_CONFIDENCE = 0.6
"""Nothing less sure is kept."""

#: The highest confidence of a fact that a model found.
MAX_MODEL_CONFIDENCE = 0.9

MAX_LIVE_FACTS = 500
"""Facts that are live of one user with one binding; every turn ranks them all. Who talks to an agent of themselves all
day comes to some thirty in a month."""

MAX_VALUE_CHARS = 300
"""Letters of a value; a longer one is no fact but a text."""


def last_day_before(end: datetime) -> date:
    """Return the last whole day, in UTC, of a fact that ends then."""
    return (end - timedelta(microseconds=1)).astimezone(UTC).date()


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of a user: its original text, and when it was received."""

    id: UUID
    text: str
    received_at: datetime


@dataclass(frozen=True, slots=True)
class FactCandidate:
    """A statement that may become a fact.

    stated_at            when the user said it.
    message_ids          the user's messages, of one session, that say it.
    is_retraction        the fact no longer holds; `value` has the user's words for it, "" when the key says it.
    retracts_everything  a retraction of all known facts.
    holds_until          when the fact ends by itself; None for a lasting one.
    answers              what models said of it; None for a rule's.
    stands_beside        nobody says that the values of its key that are known are over.
    """

    key: str
    value: str
    confidence: float
    origin: Origin
    stated_at: datetime
    message_ids: tuple[UUID, ...] = ()
    is_retraction: bool = False
    retracts_everything: bool = False
    holds_until: datetime | None = None
    answers: ModelAnswers | None = None
    stands_beside: bool = False

    @property
    def last_day(self) -> date | None:
        """The last day on which a fact with an end holds."""
        return last_day_before(self.holds_until) if self.holds_until else None


@dataclass(frozen=True, slots=True)
class RejectedFact:
    """A proposal that was rejected before it was compared with known facts. Its value is not stored.

    key         "" when the key was unreadable, `episode` for an episode.
    confidence  as proposed.
    reason      more about the decision.
    """

    key: str
    decision: FactDecision
    reason: str = ""
    confidence: float | None = None
    message_ids: tuple[UUID, ...] = ()
    origin: Origin = "extracted"
    answers: ModelAnswers | None = None


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A live fact, or the last one of its key and member that ended.

    valid_from         when the user first said it.
    last_confirmed_at  when the user last said it.
    valid_until        when it ended; None while it is live.
    message_ids        the user's messages, of `session_id`, that say it.
    member             which of several values of its key it is; None for the only one.
    holds_until        when it ends by itself.
    """

    id: UUID
    key: str
    value: str
    confidence: float
    origin: Origin
    valid_from: datetime
    last_confirmed_at: datetime
    valid_until: datetime | None = None
    session_id: UUID | None = None
    message_ids: tuple[UUID, ...] = ()
    member: UUID | None = None
    holds_until: datetime | None = None

    @property
    def is_live(self) -> bool:
        return self.valid_until is None


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """The owner of facts: one user with one binding, both taken from the session."""

    user_id: UUID
    binding_id: UUID
