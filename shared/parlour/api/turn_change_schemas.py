"""What a turn changed in records, as it goes out as JSON."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import AwareDatetime, Field, JsonValue

from parlour.api.schemas import RecordLabel, RecordReference, RequestModel, ResponseModel
from parlour.infra.page_cursor import MAX_CURSOR_CHARS
from parlour.tools.builtin.agent_writes import Change, TurnChange


class PropertyChangeView(ResponseModel):
    """A value of a record before and after a change; null: it had none. Of a long text the beginning."""

    property: str
    before: JsonValue
    after: JsonValue


class TurnChangeView(ResponseModel):
    """What a turn did to a record, which has the name that it has now.

    is_deleted  the record was deleted since.
    relation    of a link: its type; `other`: the other record, null where the reader may not see it.
    properties  what an update changed.
    undone_at   when somebody undid it; null: it stands.
    """

    action: Literal["create", "update", "link", "unlink"]
    record: RecordLabel
    is_deleted: bool
    relation: str
    other: RecordLabel | None
    properties: list[PropertyChangeView]
    at: datetime
    undone_at: datetime | None

    @classmethod
    def from_change(cls, change: TurnChange) -> Self:
        """Return a change as JSON has it."""
        row = change.row
        return cls(
            action=row.action,
            record=RecordLabel(handle=row.handle, name=row.name),
            is_deleted=row.is_deleted,
            relation=row.relation,
            other=RecordLabel(handle=row.other_handle, name=row.other_name) if row.other_handle else None,
            properties=[PropertyChangeView.model_validate(one) for one in change.properties],
            at=row.at,
            undone_at=row.undone_at,
        )


class TurnChangeListView(ResponseModel):
    """All changes of a turn, the earliest first."""

    changes: list[TurnChangeView]


class ChangeQuery(RequestModel):
    """Which changes are listed, and where to read on."""

    record: Annotated[RecordReference | None, Field(description="only those of this record (handle or id)")] = None
    since: Annotated[AwareDatetime | None, Field(description="made at this time or later")] = None
    until: Annotated[AwareDatetime | None, Field(description="made before this time")] = None
    cursor: Annotated[str, Field(max_length=MAX_CURSOR_CHARS, description="`next_cursor` of the page before")] = ""
    limit: Annotated[int, Field(ge=1, le=100)] = 50


class ChangeView(ResponseModel):
    """A change of a record by an agent, or its deletion or acceptance by a person; else as TurnChangeView.

    turn_id     the turn that made it, which POST /v1/turns/{turn_id}/undo undoes; null for a person's.
    session_id  the conversation of the turn; null for a person's, or when the turn was deleted.
    by          the principal, as `kind:id`; `by_name`: the name of the user who talked to the agent, or of the member
                or key; "" when unknown.
    agent_name  the agent that made it; "" for a person's.
    can_undo    whether undoing the turn restores this: it stands, and the record was not changed since.
    """

    id: UUID
    action: Literal["create", "update", "link", "unlink", "delete", "accept"]
    record: RecordLabel
    is_deleted: bool
    relation: str
    other: RecordLabel | None
    properties: list[PropertyChangeView]
    by: str
    by_name: str
    agent_name: str
    turn_id: UUID | None
    session_id: UUID | None
    at: datetime
    undone_at: datetime | None
    can_undo: bool

    @classmethod
    def from_change(cls, change: Change) -> Self:
        """Return a change as JSON has it."""
        row = change.row
        same = {name: getattr(row, name) for name in cls.model_fields if hasattr(row, name)}
        return cls.model_validate(
            {
                **same,
                "record": RecordLabel(handle=row.handle, name=row.name),
                "other": RecordLabel(handle=row.other_handle, name=row.other_name) if row.other_handle else None,
                "properties": [PropertyChangeView.model_validate(one) for one in change.properties],
            }
        )


class ChangePageView(ResponseModel):
    """Some changes, newest first; `next_cursor` reads on, "" when these are the last."""

    changes: list[ChangeView]
    next_cursor: str
