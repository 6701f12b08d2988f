"""Records and the links between them. Members and keys with the role editor write them; viewers read them, too."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from parlour.api.authorization import Caller, Editor, Reader
from parlour.api.record_schemas import (
    LinkView,
    NewLink,
    NewRecord,
    RecordPageView,
    RecordPatchBody,
    RecordTypePageView,
    RecordTypeView,
    RecordView,
    RelationPageView,
)
from parlour.documents import authored_documents, projects
from parlour.documents.authored_documents import NewDocument
from parlour.infra.errors import InvalidRequest
from parlour.infra.postgres import Transaction
from parlour.records import crud, record_links, type_registry
from parlour.records.crud import Record, RecordInput, RecordPatch, RecordRef
from parlour.records.record import PROJECT_TYPE, RecordQuery
from parlour.tenancy import bindings

router = APIRouter(prefix="/v1", tags=["entities"])

_FILTER_PREFIX = "where."

Limit = Annotated[int, Query(ge=1, le=crud.MAX_PAGE_SIZE)]
Cursor = Annotated[str, Query(max_length=400)]
ShortQuery = Annotated[str, Query(max_length=200)]
IdempotencyKey = Annotated[
    str, Header(pattern=r"^[\x21-\x7e]{0,100}$", description="the same key creates no second record")
]
IfMatch = Annotated[str, Header(pattern=r'^("?[0-9]{1,9}"?)?$', description="the version you read")]
Version = Annotated[int | None, Query(ge=1, description="the version you read")]


@router.get("/entity-types")
def list_record_types(caller: Reader) -> RecordTypePageView:
    """Every kind of record that the tenant has, its own and everybody's."""
    with caller.transaction() as tx:
        kinds = [*type_registry.list_record_types(tx).values()]
        agents = {kind.settings.chat_agent for kind in kinds} - {""}
        talks = {agent: bindings.find_web_binding(tx, agent) for agent in sorted(agents)}
    return RecordTypePageView(
        types=[RecordTypeView.from_record_type(kind, talks.get(kind.settings.chat_agent)) for kind in kinds]
    )


@router.get("/relations")
def list_relations(caller: Reader) -> RelationPageView:
    """Every relation that a link can have: the catalogue's, then those that the tenant's links have besides."""
    with caller.transaction() as tx:
        known = record_links.list_relations(caller.principal, tx)
    return RelationPageView.model_validate({"relations": known})


@router.post("/entities", status_code=201)
def create_entity(
    wanted: NewRecord, caller: Editor, response: Response, idempotency_key: IdempotencyKey = ""
) -> RecordView:
    """Make a record. A project gets its context document with it, a document an empty text and a place in its tree."""
    if wanted.context_text and wanted.type != PROJECT_TYPE:
        raise InvalidRequest("context_text: only projects have it; put the text into a property")
    new = RecordInput(**wanted.model_dump(exclude={"context_text"}))
    origin = f"{caller.principal.name}:{idempotency_key}" if idempotency_key else None
    with caller.transaction() as tx:
        shown = _record_view(tx, _create(caller, tx, new, wanted.context_text, origin), response)
    caller.request_embedding()
    return shown


def read_record_query(
    request: Request,
    type: ShortQuery = "",  # noqa: A002 - the word for it
    project: ShortQuery = "",
    text: ShortQuery = "",
    unverified: Annotated[bool, Query(description="only records that nobody accepted yet")] = False,
) -> RecordQuery:
    """Return which records are asked for; `where.NAME=VALUE` filters by a property, as often as needed."""
    where = {
        name.removeprefix(_FILTER_PREFIX): value
        for name, value in request.query_params.items()
        if name.startswith(_FILTER_PREFIX) and name != _FILTER_PREFIX
    }
    return RecordQuery(type or None, project or None, where, text, unverified)


@router.get("/entities")
def list_entities(
    caller: Reader,
    wanted: Annotated[RecordQuery, Depends(read_record_query)],
    cursor: Cursor = "",
    limit: Limit = 20,
) -> RecordPageView:
    """List records, the last changed first; `where.NAME=VALUE` filters by a property, as often as needed."""
    with caller.transaction() as tx:
        page = crud.list_records(caller.principal, tx, wanted, cursor=cursor, limit=limit)
        kinds = type_registry.list_record_types(tx)
    shown = [RecordView.from_record(entity, kinds[entity.type]) for entity in page.records]
    return RecordPageView(entities=shown, next_cursor=page.next_cursor)


@router.post("/entities/{record_id:uuid}/accept")
def accept_entity(record_id: UUID, caller: Editor, response: Response) -> RecordView:
    """Let everybody see what a user created, with a Pulse and in searches."""
    with caller.transaction() as tx:
        return _record_view(tx, crud.accept_record(caller.principal, tx, record_id, caller.now), response)


@router.get("/entities/{record_id:uuid}")
def get_entity_by_id(record_id: UUID, caller: Reader, response: Response) -> RecordView:
    """One record by its id."""
    return _get(caller, record_id, response)


@router.get("/entities/{type_key:record_type}/{key}")
def get_entity(type_key: str, key: str, caller: Reader, response: Response) -> RecordView:
    """One record by its handle."""
    return _get(caller, f"{type_key}/{key}", response)


@router.patch("/entities/{record_id:uuid}")
def update_entity_by_id(
    record_id: UUID, change: RecordPatchBody, caller: Editor, response: Response, if_match: IfMatch = ""
) -> RecordView:
    """Change a record named by its id."""
    return _update(caller, record_id, change, if_match, response)


@router.patch("/entities/{type_key:record_type}/{key}")
def update_entity(
    type_key: str, key: str, change: RecordPatchBody, caller: Editor, response: Response, if_match: IfMatch = ""
) -> RecordView:
    """Change a record named by its handle."""
    return _update(caller, f"{type_key}/{key}", change, if_match, response)


@router.delete("/entities/{record_id:uuid}", status_code=204)
def delete_entity_by_id(record_id: UUID, caller: Editor, version: Version = None, if_match: IfMatch = "") -> None:
    """Take a record, named by its id, out of every list and search at once."""
    _delete(caller, record_id, version, if_match)


@router.delete("/entities/{type_key:record_type}/{key}", status_code=204)
def delete_entity(type_key: str, key: str, caller: Editor, version: Version = None, if_match: IfMatch = "") -> None:
    """Take a record, named by its handle, out of every list and search at once."""
    _delete(caller, f"{type_key}/{key}", version, if_match)


@router.post("/links", status_code=201)
def create_link(wanted: NewLink, caller: Editor) -> LinkView:
    """Link two records; linking them so again gives the link that is there."""
    with caller.transaction() as tx:
        edge = record_links.link(caller.principal, tx, wanted.source, wanted.target, wanted.relation, caller.now)
    caller.request_embedding()
    return LinkView.model_validate(edge)


@router.delete("/links", status_code=204)
def delete_link(source: ShortQuery, target: ShortQuery, relation: ShortQuery, caller: Editor) -> None:
    """Take a link away."""
    with caller.transaction() as tx:
        record_links.unlink(caller.principal, tx, source, target, relation, caller.now)
    caller.request_embedding()


def _create(caller: Caller, tx: Transaction, new: RecordInput, context_text: str, origin: str | None) -> Record:
    now = caller.now
    if new.type == PROJECT_TYPE:
        return projects.create_project(caller.principal, tx, new, context_text, now, origin).project
    if new.type == authored_documents.DOCUMENT_TYPE:
        document = authored_documents.create_document(
            caller.principal,
            tx,
            NewDocument(
                new.project,
                new.name,
                key=new.key,
                classification=new.classification,
                properties=new.properties,
                state="",
            ),
            origin=origin,
            now=now,
        )
        return crud.get_record(caller.principal, tx, document.handle)
    return crud.create_record(caller.principal, tx, new, now, origin)


def _get(caller: Caller, ref: RecordRef, response: Response) -> RecordView:
    with caller.transaction() as tx:
        return _record_view(tx, crud.get_record(caller.principal, tx, ref), response)


def _update(caller: Caller, ref: RecordRef, change: RecordPatchBody, if_match: str, response: Response) -> RecordView:
    given = change.model_dump(exclude_unset=True, exclude={"version"})
    version = _expected_version(change.version, if_match)
    with caller.transaction() as tx:
        entity = authored_documents.update_record_and_document(
            caller.principal, tx, ref, RecordPatch(**given), version, caller.now
        )
        shown = _record_view(tx, entity, response)
    caller.request_embedding()
    return shown


def _delete(caller: Caller, ref: RecordRef, version: int | None, if_match: str) -> None:
    with caller.transaction() as tx:
        authored_documents.delete_record_and_document(
            caller.principal, tx, ref, _expected_version(version, if_match), caller.now
        )
    caller.request_embedding()


def _expected_version(given: int | None, if_match: str) -> int | None:
    """Return the version that the caller has read, from the body or the header."""
    matched = int(if_match.strip('"')) if if_match else None
    if given is not None and matched is not None and given != matched:
        raise InvalidRequest(f"version: {given} differs from {matched} in If-Match; send only one of them")
    return matched if given is None else given


def _record_view(tx: Transaction, entity: Record, response: Response) -> RecordView:
    response.headers["ETag"] = f'"{entity.version}"'
    return RecordView.from_record(entity, type_registry.get_record_type(tx, entity.type))
