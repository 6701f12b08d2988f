"""What is remembered of users, personas and teams, as it goes out as JSON."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from parlour.api.schemas import ResponseModel
from parlour.channels.envelope import Channel
from parlour.memory.facts.fact import EndReason, Origin
from parlour.memory.facts.shared_facts import SharedScope


class UserView(ResponseModel):
    """A user; `name` and `phone_last_digits` are "" where they are unknown.

    clearance  what they may see through every binding; null: what each binding says.
    """

    id: UUID
    name: str
    phone_last_digits: str
    clearance: int | None
    channels: list[Channel]
    created_at: datetime


class UserListItemView(ResponseModel):
    """A user in a list, with how much is remembered of them."""

    id: UUID
    name: str
    phone_last_digits: str
    channels: list[Channel]
    session_count: int
    fact_count: int
    episode_count: int
    last_active_at: datetime


class UserPageView(ResponseModel):
    """Some users, latest active first; `next_cursor` reads on, "" when these are the last."""

    users: list[UserListItemView]
    next_cursor: str


class EvidenceView(ResponseModel):
    """A message of the user that says a fact; of a long one the beginning. `is_archived`: it left the conversation."""

    id: UUID
    session_id: UUID
    sent_at: datetime
    channel: Channel
    text: str
    is_archived: bool


class PreviousValueView(ResponseModel):
    """What a fact said before, and why it ended."""

    id: UUID
    value: str
    from_: datetime = Field(validation_alias="from", serialization_alias="from")
    until: datetime
    end_reason: EndReason


class FactView(ResponseModel):
    """A fact of a user that one agent remembers.

    origin             stated in a fixed phrase, found by a model (extracted, consolidated), or edited by a person.
    edited_by          who edited it: the user, or who of the tenant; "" when nobody did.
    recall_count       how many prompts it was in; `use_count`: how many of their replies used it.
    evidence_messages  the user's messages that say it.
    previous_values    what was remembered under its key before, latest first.
    """

    id: UUID
    key: str
    value: str
    confidence: float = Field(ge=0, le=1)
    origin: Origin
    edited_by: Literal["", "user", "member", "key", "operator"]
    since: datetime = Field(validation_alias="valid_from")
    last_confirmed_at: datetime
    recall_count: int
    use_count: int
    last_used_at: datetime | None
    session_id: UUID | None
    binding: str = Field(validation_alias="binding_slug")
    agent: str = Field(validation_alias="agent_name")
    evidence_messages: list[EvidenceView]
    previous_values: list[PreviousValueView]


class EpisodeView(ResponseModel):
    """A memory of an event; `merged_count` further ones said nearly the same."""

    id: UUID
    text: str
    from_: datetime = Field(validation_alias="from_at", serialization_alias="from")
    until: datetime = Field(validation_alias="until_at")
    merged_count: int
    recall_count: int
    use_count: int
    session_id: UUID
    binding: str = Field(validation_alias="binding_slug")
    agent: str = Field(validation_alias="agent_name")


class UserMemoryView(ResponseModel):
    """What is remembered of a user; `user` is null where they read it themselves."""

    user: UserView | None
    facts: list[FactView]
    episodes: list[EpisodeView]


class SharedFactView(ResponseModel):
    """A fact about a persona (human) or a team, which everybody who talks to them may be told."""

    id: UUID
    scope: SharedScope
    owner_name: str
    key: str
    value: str
    confidence: float = Field(ge=0, le=1)
    origin: Origin
    since: datetime = Field(validation_alias="valid_from")
    last_confirmed_at: datetime
    recall_count: int
    use_count: int


class SharedFactPageView(ResponseModel):
    """The shared facts of all personas and teams."""

    facts: list[SharedFactView]


class StoredFactView(ResponseModel):
    """The fact that holds now: a new id when its value changed."""

    id: UUID


class ErasedFactsView(ResponseModel):
    """The reports of an erased fact and of each earlier value, by id."""

    erased: list[UUID]
