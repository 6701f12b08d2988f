"""What a turn changed in records, as it goes out as JSON."""

from datetime import datetime
from typing import Literal, Self

from pydantic import JsonValue

from parlour.api.schemas import RecordLabel, ResponseModel
from parlour.tools.builtin.agent_writes import TurnChange


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
