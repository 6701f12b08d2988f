"""Facts, fact candidates, and the decisions about them. Pure; all writers and readers of facts use these types."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

type Origin = Literal["stated", "extracted", "consolidated", "edited"]
"""said: stated in a fixed phrase (`obvious`); extracted, consolidated: found by a model; edited: by a person."""

type EndReason = Literal["refined", "contradicted", "retracted", "edited", "deleted", "merged", "evicted"]
"""Why a value holds no longer."""

type AcceptedDecision = Literal["new", "same", "refines", "contradicts", "retracted"]
"""What changes something: a first value, the one that is known, a fuller one, another one, none any more."""

type RejectedDecision = Literal[
    "duplicate",
    "weaker",
    "older",
    "nothing_to_retract",
    "low_confidence",
    "not_in_user_text",
    "not_stated",
    "unknown_message",
    "sensitive",
    "malformed",
]
"""What changes nothing, and why.

duplicate        taken from the very messages that the fact was taken from, or one that was forgotten.
weaker           less sure than what it would replace.
older            said before what is known by now, or before it, or everything, was taken back.
nothing_to_retract  taken back, and nothing of the kind is known.
low_confidence   less sure than anything that is kept.
not_in_user_text  its words stand in none of the user's own messages.
not_stated       the user only asked for it, or takes nothing back there.
unknown_message  it names no message of the user's.
sensitive        a password, a card, a number of an identity paper: never kept.
malformed        it could not be read, or there was no answer for the reason beside it.
"""

type FactDecision = AcceptedDecision | RejectedDecision | Literal["evicted"]
"""evicted: a known fact ended, for there were too many."""

MIN_CONFIDENCE = 0.6
"""Nothing less sure is kept."""

#: The highest confidence of a fact that a model found.
MAX_MODEL_CONFIDENCE = 0.9

MAX_LIVE_FACTS = 500
"""Facts that are live of one user with one binding; every turn ranks them all. Who talks to an agent of themselves all
day comes to some thirty in a month."""

MAX_VALUE_CHARS = 300
"""Letters of a value; a longer one is no fact but a text."""


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
    """

    key: str
    value: str
    confidence: float
    origin: Origin
    stated_at: datetime
    message_ids: tuple[UUID, ...] = ()
    is_retraction: bool = False
    retracts_everything: bool = False


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


@dataclass(frozen=True, slots=True)
class KnownFact:
    """The newest fact of a key, live or ended.

    valid_from         when the user first said it.
    last_confirmed_at  when the user last said it.
    valid_until        when it ended; None while it is live.
    message_ids        the user's messages, of `session_id`, that say it.
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

    @property
    def is_live(self) -> bool:
        return self.valid_until is None


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """The owner of facts: one user with one binding, both taken from the session."""

    user_id: UUID
    binding_id: UUID
