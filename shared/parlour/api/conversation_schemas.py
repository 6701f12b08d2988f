"""Conversations as an operator's list shows them."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import AwareDatetime, ConfigDict, Field, JsonValue

from parlour.api.schemas import RecordLabel, RecordReference, RequestModel, ResponseModel, SingleLine, Slug, UsdAmount
from parlour.conversations.sessions.session_lists import (
    MAX_SESSIONS,
    ConversationFilter,
    ConversationRow,
    ConversationState,
)

_TURN_STATES = {"open": "running"}

_EXAMPLE: dict[str, JsonValue] = {
    "id": "01990f5e-7c1e-7d52-9d7e-5a4c6f3b1a01",
    "title": "When is the pour?",
    "person": {"id": "01990f5e-7c1e-7d52-9d7e-5a4c6f3b1a02", "name": "Ida Rao", "phone_last_digits": "0001"},
    "agent": {"slug": "site-desk", "name": "Site desk"},
    "channel": "whatsapp",
    "entity": {"handle": "task/T-112", "name": "Pour the slab"},
    "visibility": "private",
    "archived": False,
    "created_at": "2026-03-02T09:30:00Z",
    "last_active_at": "2026-03-02T09:41:00Z",
    "message_count": 6,
    "last_message_preview": "The pour is on Tuesday [1].",
    "turn_count": 3,
    "last_turn_state": "answered",
    "cost_usd": "0.01420000",
    "attention_count": 0,
    "failed_tools": [],
    "inbox_state": None,
    "assignee_name": None,
    "has_question_for_user": False,
}


class ConversationQuery(RequestModel):
    """Which conversations are listed, and where to read on."""

    text: Annotated[
        SingleLine | None,
        Field(description="part of the title or of the person's name, or the phone's last digits: up to 4, or all"),
    ] = None
    agent: Annotated[Slug | None, Field(description="the slug of the agent's binding")] = None
    channel: Annotated[Slug | None, Field(description="web or whatsapp")] = None
    person: Annotated[UUID | None, Field(description="the id of a user")] = None
    record: Annotated[RecordReference | None, Field(description="only those about this record (handle or id)")] = None
    state: Annotated[
        ConversationState | None,
        Field(
            description="answered: the last turn has its reply, and nobody is waited for; running: a turn is open; "
            "failed: a turn or a tool failed; waiting: a person has to answer or to decide something; "
            "waiting_for_user: the user is asked about a tool call; with_person: a person answers it, or put it off; "
            "archived. Without it, all"
        ),
    ] = None
    since: Annotated[
        AwareDatetime | None,
        Field(description="last active at this time or later; with state=failed: failed at this time or later"),
    ] = None
    until: Annotated[AwareDatetime | None, Field(description="the same, before this time")] = None
    cursor: Annotated[str, Field(max_length=400, description="`next_cursor` of the page before")] = ""
    limit: Annotated[int, Field(ge=1, le=MAX_SESSIONS)] = 50

    def to_filter(self, entity_id: UUID | None) -> ConversationFilter:
        """Return the filter; `entity_id` is the id of `record`."""
        return ConversationFilter(
            self.text, self.agent, self.channel, self.person, entity_id, self.state, self.since, self.until
        )


class PersonLabel(ResponseModel):
    """Who talks to an agent; name and phone_last_digits: null where they are not known."""

    id: UUID
    name: str | None
    phone_last_digits: str | None


class AgentLabel(ResponseModel):
    """An agent by the slug and the name of its binding."""

    slug: str
    name: str


class ConversationView(ResponseModel):
    """A conversation in the list of all.

    entity           the record that it is about.
    archived         whether its user archived it.
    last_turn_state  null before the first turn.
    cost_usd         what all its model calls cost, also those of memory; null when none has a known price.
    attention_count  tool calls, replies and failed turns that a person has to decide.
    failed_tools     the tools whose last call in the conversation did not work.
    inbox_state      null when it never was in the inbox; assignee_name: the person who answers it.
    has_question_for_user  whether the user is asked about a tool call.
    """

    model_config = ConfigDict(frozen=True, from_attributes=True, json_schema_extra={"examples": [_EXAMPLE]})

    id: UUID
    title: str
    person: PersonLabel
    agent: AgentLabel
    channel: str
    entity: RecordLabel | None
    visibility: Literal["private", "role_gated", "shared"]
    archived: bool
    created_at: datetime
    last_active_at: datetime
    message_count: int
    last_message_preview: str
    turn_count: int
    last_turn_state: Literal["running", "answered", "failed", "stopped"] | None
    cost_usd: UsdAmount | None
    attention_count: int
    failed_tools: list[str]
    inbox_state: Literal["agent", "waiting", "person", "snoozed", "done"] | None
    assignee_name: str | None
    has_question_for_user: bool

    @classmethod
    def from_row(cls, row: ConversationRow) -> Self:
        """Return a row of the list as JSON has it."""
        shown = {name: getattr(row, name) for name in cls.model_fields if hasattr(row, name)}
        record = {"handle": row.record_handle, "name": row.record_name} if row.record_handle else None
        state = row.last_turn_state
        return cls.model_validate(
            {
                **shown,
                "person": {"id": row.user_id, "name": row.person_name, "phone_last_digits": row.phone_last_digits},
                "agent": {"slug": row.agent_slug, "name": row.agent_name},
                "entity": record,
                "archived": row.archived_at is not None,
                "last_message_preview": row.last_message_preview or "",
                "failed_tools": row.failed_tools or [],
                "last_turn_state": _TURN_STATES.get(state, state) if state else None,
            }
        )


class ConversationPageView(ResponseModel):
    """Some conversations, newest activity first; `next_cursor` reads on, "" when these are the last."""

    model_config = ConfigDict(
        frozen=True,
        from_attributes=True,
        json_schema_extra={"examples": [{"conversations": [_EXAMPLE], "next_cursor": ""}]},
    )

    conversations: list[ConversationView]
    next_cursor: str
