"""The tools that read records: lists of them, and some of them whole."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from parlour.documents import catalogue
from parlour.documents.authored_documents import DOCUMENT_TYPE
from parlour.documents.catalogue import DocumentPage
from parlour.infra.errors import InvalidArguments
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.records import crud, type_registry
from parlour.records.crud import Record, RecordPage
from parlour.records.property_text import format_value
from parlour.records.record import RecordQuery
from parlour.search.citation_numbers import assign_numbers
from parlour.search.results import SearchResult
from parlour.search.text_of_others import mark_text_of_others
from parlour.tools.builtin import record_json, store
from parlour.tools.builtin.definitions import MAX_LISTED
from parlour.tools.builtin.document_tools import read_beginning
from parlour.tools.builtin.model_arguments import full_handle, require_records, text_argument, translate_errors
from parlour.tools.run import ToolContext

_MAX_VALUES, _MAX_VALUE_CHARS = 8, 40
_DOCUMENT_PREFIX = f"{DOCUMENT_TYPE}/"
_NOTHING = "No record fits. Leave out a filter, or search_knowledge by what it is about."


def list_entities(context: ToolContext, arguments: JsonObject) -> JsonObject:
    """One page of records, last changed first, as the principal may see them."""
    kind, project = text_argument(arguments, "kind"), full_handle(text_argument(arguments, "project"), "project")
    where = _where(arguments)

    if kind == DOCUMENT_TYPE and not where and not project:
        return _list_documents(context, arguments)

    def look(tx: Transaction) -> tuple[RecordPage, Mapping[UUID, int], str]:
        if where and not kind:
            raise InvalidArguments("where: say the kind, too; properties differ from kind to kind")
        if project:
            require_records(context.principal, tx, [project], "project")
        query = RecordQuery(
            type=kind or None, project=project or None, where=where, text=text_argument(arguments, "text")
        )
        page = crud.list_records(
            context.principal, tx, query, cursor=text_argument(arguments, "cursor"), limit=MAX_LISTED
        )
        hint = "" if page.records else _describe_values(context, tx, query)
        return page, _record_numbers(context, tx, page.records), hint

    with translate_errors():
        page, numbers, hint = context.database.run(context.principal, look)
    listed: list[Json] = [_numbered(numbers, record, record_json.record_summary(record)) for record in page.records]
    found: JsonObject = {"entities": listed}
    if page.next_cursor:
        found["next_cursor"] = page.next_cursor
    return found if listed else {**found, "hint": hint or _NOTHING}


def _list_documents(context: ToolContext, arguments: JsonObject) -> JsonObject:
    """One page of documents, also those from files, which have no record."""

    def look(tx: Transaction) -> DocumentPage:
        text = text_argument(arguments, "text") or None
        cursor = text_argument(arguments, "cursor")
        return catalogue.list_newest_documents(context.principal, tx, cursor, MAX_LISTED, context.team_id, text)

    with translate_errors():
        page = context.database.run(context.principal, look)
    listed: list[Json] = [record_json.document_summary(document) for document in page.documents]
    found: JsonObject = {"entities": listed}
    if page.next_cursor:
        found["next_cursor"] = page.next_cursor
    return found if listed else {**found, "hint": _NOTHING}


def _describe_values(context: ToolContext, tx: Transaction, query: RecordQuery) -> str:
    """Return which values there are of a property that no record has as asked for; "" where that is not the reason."""
    if not query.where:
        return ""
    page = crud.list_records(context.principal, tx, replace(query, where={}, text=""), limit=crud.MAX_PAGE_SIZE)
    for name, value in query.where.items():
        counts = Counter(text for record in page.records if (text := format_value(record.properties.get(name))))
        if counts and value not in counts:
            known = ", ".join(f"{text[:_MAX_VALUE_CHARS]} {count}" for text, count in counts.most_common(_MAX_VALUES))
            return f"No {query.type} has {name} {value}. There are, of the last changed: {known}."
    return ""


def get_entity(context: ToolContext, arguments: JsonObject) -> JsonObject:
    """Return whole records, in the order asked for, and of documents the beginning of their text."""
    requested = arguments["entities"]
    handles = [str(handle).strip() for handle in requested] if isinstance(requested, list) else []
    if not handles:
        raise InvalidArguments("entities: name at least one record by its handle, like risk/R-03")

    def look(tx: Transaction) -> JsonObject:
        document_handles = [handle for handle in handles if handle.startswith(_DOCUMENT_PREFIX)]
        readable, _ = catalogue.find_documents(context.principal, tx, document_handles, context.team_id)
        documents = {document.handle: document for document in readable}
        from_files = {handle for handle, document in documents.items() if document.own_entity_id is None}
        record_handles = [handle for handle in handles if handle not in from_files]
        records = {
            record.handle: record for record in require_records(context.principal, tx, record_handles, "entities")
        }
        record_types = {record.type: type_registry.get_record_type(tx, record.type) for record in records.values()}
        numbers = _record_numbers(context, tx, list(records.values()))
        shown: list[Json] = []
        sources: list[SearchResult] = []
        for handle in dict.fromkeys(handles):
            content: JsonObject = {}
            if record := records.get(handle):
                content = record_json.full_record(record, record_types[record.type].properties)
                content = _numbered(numbers, record, content)
            if document := documents.get(handle):
                text, rows = read_beginning(context, tx, document)
                content |= {"handle": handle, "name": document.title, **text}
                sources += rows
            shown.append(content)
        return mark_text_of_others(tx, sources, {"entities": shown})

    with translate_errors():
        found: JsonObject = context.database.run(context.principal, look)
    return found


def _record_numbers(context: ToolContext, tx: Transaction, records: Sequence[Record]) -> Mapping[UUID, int]:
    """Return the numbers by which a reply cites these records, by record id; none for one without searchable text."""
    rows = {
        row.entity_id: row
        for row in store.list_snapshot_rows(tx, [record.id for record in records], context.principal.clearance)
    }
    listed = [rows[record.id] for record in records if record.id in rows]
    numbers = assign_numbers(tx, context.session_id, listed, context.fencing_token)
    return {row.entity_id: numbers[row.row_id] for row in listed if row.entity_id and row.row_id in numbers}


def _numbered(numbers: Mapping[UUID, int], record: Record, content: JsonObject) -> JsonObject:
    return {"n": numbers[record.id], **content} if record.id in numbers else content


def _where(arguments: JsonObject) -> dict[str, str]:
    """Return the values looked for, as records' texts compare to them."""
    where = arguments.get("where")
    given = where if isinstance(where, dict) else {}
    return {
        name: (str(value).lower() if isinstance(value, bool) else format_value(value))
        for name, value in given.items()
        if value is not None
    }
