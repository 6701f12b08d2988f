"""Records and the links between them. Members and keys with the role editor write them; viewers read them, too."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request, Response

from parlour.api.access import Caller, Editor, Reader
from parlour.api.record_shapes import (
    KindShown,
    LinkShown,
    NewLink,
    NewRecord,
    RecordChange,
    RecordShown,
    RecordsPage,
    RelationShown,
)
from parlour.infra.errors import InvalidRequest
from parlour.infra.postgres import Transaction
from parlour.knowledge.documents import projects, written
from parlour.knowledge.records import edges, entities, registry
from parlour.knowledge.records.entities import Entity, NewEntity, Patch, Ref
from parlour.knowledge.records.record import PROJECT
from parlour.tenancy import bindings

router = APIRouter(prefix="/v1", tags=["entities"])

_WHERE = "where."

Most = Annotated[int, Query(ge=1, le=entities.MOST)]
Cursor = Annotated[str, Query(max_length=400)]
Short = Annotated[str, Query(max_length=200)]
Again = Annotated[str, Header(pattern=r"^[\x21-\x7e]{0,100}$", description="the same again makes no second record")]
Match = Annotated[str, Header(pattern=r'^("?[0-9]{1,9}"?)?$', description="the version that was read")]
Version = Annotated[int | None, Query(ge=1, description="the version that was read")]


@router.get("/entity-types")
def list_kinds(caller: Reader) -> dict[str, list[KindShown]]:
    """Every kind of record that the tenant has, its own and everybody's."""
    with caller.transaction() as tx:
        kinds = [*registry.definitions(tx).values()]
        agents = {kind.settings.chat_agent for kind in kinds} - {""}
        talks = {agent: bindings.on_the_web(tx, agent) for agent in sorted(agents)}
    return {"types": [KindShown.of(kind, talks.get(kind.settings.chat_agent)) for kind in kinds]}


@router.get("/relations")
def list_relations(caller: Reader) -> dict[str, list[RelationShown]]:
    """Every relation that a link can have: the catalogue's, then those that the tenant's links have besides."""
    with caller.transaction() as tx:
        known = edges.relations_known(caller.principal, tx)
    return {"relations": [RelationShown.model_validate(relation) for relation in known]}


@router.post("/entities", status_code=201)
def create_entity(wanted: NewRecord, caller: Editor, response: Response, idempotency_key: Again = "") -> RecordShown:
    """Make a record. A project gets its context document with it, a document an empty text and a place in its tree."""
    if wanted.words and wanted.type != PROJECT:
        raise InvalidRequest("words: only a project has them; put what a record says into its properties")
    new = NewEntity(**wanted.model_dump(exclude={"words"}))
    origin = f"{caller.principal.name}:{idempotency_key}" if idempotency_key else None
    with caller.transaction() as tx:
        shown = _shown(tx, _created(caller, tx, new, wanted.words, origin), response)
    caller.embed_soon()
    return shown


@router.get("/entities")
def list_entities(
    request: Request,
    caller: Reader,
    type: Short = "",  # noqa: A002 - the word for it
    project: Short = "",
    text: Short = "",
    cursor: Cursor = "",
    most: Most = 20,
) -> RecordsPage:
    """Records, the newest change first. `where.NAME=VALUE` asks for the value of a property, as often as needed."""
    where = {name.removeprefix(_WHERE): value for name, value in request.query_params.items() if _asks(name)}
    with caller.transaction() as tx:
        page = entities.browse(
            caller.principal, tx, type=type or None, project=project or None, where=where, text=text, cursor=cursor,
            most=most,
        )  # fmt: skip
        kinds = registry.definitions(tx)
    shown = [RecordShown.of(entity, kinds[entity.type]) for entity in page.entities]
    return RecordsPage(entities=shown, next_cursor=page.next_cursor)


@router.get("/entities/{record_id:uuid}")
def read_entity_by_id(record_id: UUID, caller: Reader, response: Response) -> RecordShown:
    """One record by its id."""
    return _read(caller, record_id, response)


@router.get("/entities/{type_key}/{key}")
def read_entity(type_key: str, key: str, caller: Reader, response: Response) -> RecordShown:
    """One record by its handle."""
    return _read(caller, f"{type_key}/{key}", response)


@router.patch("/entities/{record_id:uuid}")
def change_entity_by_id(
    record_id: UUID, change: RecordChange, caller: Editor, response: Response, if_match: Match = ""
) -> RecordShown:
    """Change a record named by its id."""
    return _changed(caller, record_id, change, if_match, response)


@router.patch("/entities/{type_key}/{key}")
def change_entity(
    type_key: str, key: str, change: RecordChange, caller: Editor, response: Response, if_match: Match = ""
) -> RecordShown:
    """Change a record named by its handle."""
    return _changed(caller, f"{type_key}/{key}", change, if_match, response)


@router.delete("/entities/{record_id:uuid}", status_code=204)
def delete_entity_by_id(record_id: UUID, caller: Editor, version: Version = None, if_match: Match = "") -> None:
    """Take a record, named by its id, out of every list and search at once."""
    _deleted(caller, record_id, version, if_match)


@router.delete("/entities/{type_key}/{key}", status_code=204)
def delete_entity(type_key: str, key: str, caller: Editor, version: Version = None, if_match: Match = "") -> None:
    """Take a record, named by its handle, out of every list and search at once."""
    _deleted(caller, f"{type_key}/{key}", version, if_match)


@router.post("/edges", status_code=201)
def create_edge(wanted: NewLink, caller: Editor) -> LinkShown:
    """Link two records; linking them so again gives the link that is there."""
    with caller.transaction() as tx:
        edge = edges.link(
            caller.principal, tx, wanted.source, wanted.target, wanted.relation, caller.now, caller.services.new_id
        )
    caller.embed_soon()
    return LinkShown.model_validate(edge)


@router.delete("/edges", status_code=204)
def delete_edge(source: Short, target: Short, relation: Short, caller: Editor) -> None:
    """Take a link away."""
    with caller.transaction() as tx:
        edges.unlink(caller.principal, tx, source, target, relation, caller.now, caller.services.new_id)
    caller.embed_soon()


def _asks(name: str) -> bool:
    return name.startswith(_WHERE) and len(name) > len(_WHERE)


def _created(caller: Caller, tx: Transaction, new: NewEntity, words: str, origin: str | None) -> Entity:
    now, new_id = caller.now, caller.services.new_id
    if new.type == PROJECT:
        return projects.create_project(caller.principal, tx, new, words, now, new_id, origin).project
    if new.type == written.KIND:
        document = written.create(
            caller.principal, tx, new.project, new.name, key=new.key, classification=new.classification,
            properties=new.properties, state="", origin=origin, now=now, new_id=new_id,
        )  # fmt: skip
        return entities.read(caller.principal, tx, document.handle)
    return entities.create(caller.principal, tx, new, now, new_id, origin)


def _read(caller: Caller, ref: Ref, response: Response) -> RecordShown:
    with caller.transaction() as tx:
        return _shown(tx, entities.read(caller.principal, tx, ref), response)


def _changed(caller: Caller, ref: Ref, change: RecordChange, if_match: str, response: Response) -> RecordShown:
    given = change.model_dump(exclude_unset=True, exclude={"version"})
    version = _version(change.version, if_match)
    with caller.transaction() as tx:
        entity = written.change(
            caller.principal, tx, ref, Patch(**given), version, caller.now, caller.services.new_id
        )  # fmt: skip
        shown = _shown(tx, entity, response)
    caller.embed_soon()
    return shown


def _deleted(caller: Caller, ref: Ref, version: int | None, if_match: str) -> None:
    with caller.transaction() as tx:
        written.delete(
            caller.principal, tx, ref, _version(version, if_match), caller.now, caller.services.new_id
        )  # fmt: skip
    caller.embed_soon()


def _version(given: int | None, if_match: str) -> int | None:
    """The version that the caller has read, wherever they say it."""
    matched = int(if_match.strip('"')) if if_match else None
    if given is not None and matched is not None and given != matched:
        raise InvalidRequest(f"version: is {given} here and {matched} in If-Match; say one of them")
    return matched if given is None else given


def _shown(tx: Transaction, entity: Entity, response: Response) -> RecordShown:
    response.headers["ETag"] = f'"{entity.version}"'
    return RecordShown.of(entity, registry.definition(tx, entity.type))
