"""What agents write into records: audited with the turn and with what it replaced, and taken back turn by turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.documents import authored_documents
from parlour.documents.authored_documents import DocumentPatch
from parlour.infra.errors import CallerError, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.page_cursor import Page, cut_page, decode_id_cursor
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records import crud, record_links
from parlour.records.crud import Record, RecordPatch
from parlour.records.record import DOCUMENT_TYPE
from parlour.tenancy import audit
from parlour.tenancy.roles import require_role
from parlour.tools.builtin import store
from parlour.tools.builtin.store import AgentWriteRow, ChangeQuery, ChangeRow, TurnChangeRow
from parlour.tools.run import ToolContext

__all__ = [
    "Change",
    "ChangeQuery",
    "PropertyChange",
    "TurnChange",
    "UndoneWrite",
    "list_changes",
    "list_turn_changes",
    "record_creation",
    "record_link",
    "record_update",
    "undo_turn",
]

type _Action = Literal["create", "update", "link", "unlink"]

_PAST_TENSE: Mapping[_Action, str] = {"create": "created", "update": "updated", "link": "linked", "unlink": "unlinked"}
_CHANGED_SINCE = "changed since; not touched"
_MAX_TEXT_CHARS = 400


@dataclass(frozen=True, slots=True)
class _Write:
    """What a call did to a record, which is as it is afterwards."""

    action: _Action
    record: Record
    target_id: UUID | None = None
    relation: str = ""
    before: JsonObject | None = None
    after: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class UndoneWrite:
    """What became of one write that was to be taken back. `outcome` is "undone", or says why it was left."""

    handle: str
    action: str
    outcome: str


def record_creation(context: ToolContext, tx: Transaction, created: Sequence[Record]) -> None:
    """Write down the records that a call created."""
    for at, record in enumerate(created):
        _add(context, tx, f"create/{at}", _Write("create", record))


def record_update(context: ToolContext, tx: Transaction, before: Record, after: Record, texts: tuple[str, str]) -> None:
    """Write down what a call changed in a record. `texts`: a document's before and after, empty for other records."""
    if before.version != after.version or texts[0] != texts[1]:
        _add(
            context,
            tx,
            "update",
            _Write("update", after, before=_content(before, texts[0]), after=_content(after, texts[1])),
        )


def record_link(
    context: ToolContext, tx: Transaction, at: int, ends: tuple[Record, Record], relation: str, *, is_removed: bool
) -> None:
    """Write down a link that a call added or removed."""
    source, target = ends
    write = _Write("unlink" if is_removed else "link", source, target_id=target.id, relation=relation)
    _add(context, tx, f"link/{at}", write)


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """A value of a record before and after a write; None: it had no value. Of a long text the beginning."""

    property: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class TurnChange:
    """What one call of a turn did to one record; `properties` are those that an update changed."""

    row: TurnChangeRow
    properties: Sequence[PropertyChange]


@dataclass(frozen=True, slots=True)
class Change:
    """A change in the list of all; `properties` are those that an update changed."""

    row: ChangeRow
    properties: Sequence[PropertyChange]


def list_changes(
    principal: Principal, tx: Transaction, wanted: ChangeQuery, cursor: str = "", limit: int = 50
) -> Page[Change]:
    """Return a page of the changes of records, newest first. Needs viewer; InvalidRequest for a bad cursor.

    Agents' writes are in it, undone or not, and deletions and acceptances by people; a person's own edits are not.
    """
    require_role(principal, "viewer")
    after = decode_id_cursor(cursor) if cursor else None
    rows = store.list_changes(tx, wanted, after=after, clearance=principal.clearance, limit=limit + 1)
    page = cut_page(rows, limit, lambda row: (row.at.isoformat(), row.id))
    shown = [Change(row, _changed_properties(row.before or {}, row.after or {})) for row in page.rows]
    return Page(shown, page.next_cursor)


def list_turn_changes(principal: Principal, tx: Transaction, turn_id: UUID) -> list[TurnChange]:
    """Return what a turn's calls wrote into records that the principal may see, the earliest first. Needs a viewer."""
    require_role(principal, "viewer")
    rows = store.list_turn_changes(tx, turn_id, principal.clearance)
    return [TurnChange(row, _changed_properties(row.before or {}, row.after or {})) for row in rows]


def _changed_properties(before: JsonObject, after: JsonObject) -> list[PropertyChange]:
    old, new = _flatten(before), _flatten(after)
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return [PropertyChange(name, _shorten(old.get(name)), _shorten(new.get(name))) for name in names]


def _flatten(content: JsonObject) -> JsonObject:
    """Return a record's name, level, text and properties side by side."""
    properties = content.get("properties")
    rest: JsonObject = {name: value for name, value in content.items() if name != "properties"}
    return {**rest, **(properties if isinstance(properties, dict) else {})}


def _shorten(value: Json) -> Json:
    return f"{value[:_MAX_TEXT_CHARS]}…" if isinstance(value, str) and len(value) > _MAX_TEXT_CHARS else value


def undo_turn(principal: Principal, tx: Transaction, turn_id: UUID, now: datetime) -> list[UndoneWrite]:
    """Restore what a turn's calls wrote into records, the latest first; audited. Needs the role editor.

    What was changed since is left, and so is what the principal may not see; the answer says so. Done twice, the second
    finds nothing. NotFound when the turn wrote nothing that is not undone.
    """
    require_role(principal, "editor")
    rows = [row for row in store.lock_agent_writes(tx, turn_id) if row.classification <= principal.clearance]
    if not rows:
        raise NotFound("this turn changed no record, or that is undone already")
    versions: dict[UUID, int] = {}
    undone = [UndoneWrite(row.handle, row.action, _undo(principal, tx, row, versions, now)) for row in rows]
    details: JsonObject = {"writes": len(rows), "undone": sum(one.outcome == "undone" for one in undone)}
    audit.add_entry(principal, tx, "turn.undone", f"turn:{turn_id}", details, now)
    return undone


def _undo(principal: Principal, tx: Transaction, row: AgentWriteRow, versions: dict[UUID, int], now: datetime) -> str:
    """Return the outcome of taking one write back; `versions` are those that this undoing has led records to."""
    try:
        record = crud.get_record(principal, tx, row.entity_id)
        if row.action in {"create", "update"} and record.version != versions.get(record.id, row.version):
            return _CHANGED_SINCE
        match row.action:
            case "create":
                authored_documents.delete_record_and_document(principal, tx, record.id, None, now)
            case "update":
                versions[record.id] = _restore(principal, tx, record, row.before or {}, now)
            case "link":
                record_links.unlink(principal, tx, record.id, row.target_id or record.id, row.relation, now)
            case "unlink":
                record_links.link(principal, tx, record.id, row.target_id or record.id, row.relation, now)
    except CallerError as error:
        return f"left as it is: {error}"
    store.mark_undone(tx, row.id, principal.name, now)
    return "undone"


def _restore(principal: Principal, tx: Transaction, record: Record, before: JsonObject, now: datetime) -> int:
    """Give a record its earlier name, properties and text; return its version then."""
    properties = before["properties"] if isinstance(before["properties"], dict) else {}
    name = str(before["name"])
    text = before.get("text")
    if record.type == DOCUMENT_TYPE and isinstance(text, str):
        patch = DocumentPatch(title=name, content=text, description=str(properties.get("description") or ""))
        authored_documents.revise_document(principal, tx, record.handle, patch, now)
        record = crud.get_record(principal, tx, record.id)
    changed = {key: properties.get(key) for key in {*record.properties, *properties}}
    level = int(str(before["classification"]))
    patch_rest = RecordPatch(name, {key: value for key, value in changed.items() if key != "sources"}, level)
    return crud.update_record(principal, tx, record.id, patch_rest, None, now).version


def _content(record: Record, text: str) -> JsonObject:
    content: JsonObject = {
        "name": record.name,
        "properties": {**record.properties},
        "classification": record.classification,
    }
    return {**content, "text": text} if record.type == DOCUMENT_TYPE else content


def _add(context: ToolContext, tx: Transaction, place: str, write: _Write) -> None:
    """Write a change down, and audit it; a repeated call changes nothing."""
    principal, now, record = context.principal, context.now, write.record
    write_id = uuid7(now)
    is_new = store.add_agent_write(
        tx,
        {
            "id": write_id,
            "turn_id": context.turn_id,
            "origin": f"{context.idempotency_key}/{place}",
            "principal": principal.name,
            "action": write.action,
            "entity_id": record.id,
            "target_id": write.target_id,
            "relation": write.relation,
            "before": write.before,
            "after": write.after,
            "version": record.version,
            "now": now,
        },
    )
    if is_new:
        details: JsonObject = {
            "session": str(context.session_id),
            "turn": str(context.turn_id),
            "write": str(write_id),
            "version": record.version,
        }
        audit.add_entry(principal, tx, f"record.{_PAST_TENSE[write.action]}", f"entity:{record.id}", details, now)
