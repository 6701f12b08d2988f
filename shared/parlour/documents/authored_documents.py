"""Documents that people and agents write: text that is kept whole, a record of the kind `document`, a place in its
project's tree, and pieces to be found by.

Whoever calls these has the tenant's rows embedded once they are committed (`index.pending.nudge`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.documents import catalogue, pages, placement, store
from parlour.documents.pack_import import DocumentDraft, delete_pack_documents
from parlour.documents.store import Document
from parlour.infra import log
from parlour.infra.errors import Conflict, InvalidRequest
from parlour.infra.ids import uuid7
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records import crud, record_links, staleness, type_registry
from parlour.records.deltas import FieldChange
from parlour.records.properties import choices_of
from parlour.records.record import Record, RecordInput, RecordPatch, RecordRef
from parlour.search.index import scheduling
from parlour.search.index import store as index
from parlour.search.index.row_sync import OwnerRows, sync_rows_without_vectors
from parlour.search.index.store import RowOwner
from parlour.tenancy import audit
from parlour.tenancy.roles import require_role

DOCUMENT_TYPE = "document"
MAX_CONTENT_CHARS = 200_000
"""Characters of a document, about 50,000 tokens of English; what is longer is uploaded as a file."""

_LONGEST_TITLE = 300
_LONGEST_DESCRIPTION = 1_000
_SCRATCH = "scratch"
_CONTAINS = "contains"
_DEFAULT_STATES = frozenset({"draft", "published"})
"""What a document's state is when nobody says."""


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to create.

    position        from 0 among its siblings under `parent` or at the top of the project's tree; None: the last.
    classification  None: its type's or its project's, whichever is higher.
    properties      further properties of its record.
    is_unverified   as of a record.
    """

    project: RecordRef | None
    title: str
    description: str = ""
    content: str = ""
    parent: RecordRef | None = None
    position: int | None = None
    state: str = "draft"
    is_context: bool = False
    key: str = ""
    classification: int | None = None
    properties: Mapping[str, Json] | None = None
    is_unverified: bool = False


@dataclass(frozen=True, slots=True)
class DocumentPatch:
    """What to change in a document; None leaves it. version: the one its reader saw; None does not check it."""

    title: str | None = None
    description: str | None = None
    content: str | None = None
    state: str | None = None
    classification: int | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class _DocumentText:
    """What a document says, checked."""

    title: str
    description: str
    content: str


def create_document(
    principal: Principal,
    tx: Transaction,
    new: NewDocument,
    now: datetime,
    team_id: UUID | None = None,
    origin: str | None = None,
) -> Document:
    """Create a document with its record and, in a project, its place in the tree.

    team_id  the team in whose conversation it is written. The document itself belongs to every team; a team's own
             documents are files.
    origin   names the call that creates it; the same origin again returns the document that was created before.

    InvalidRequest for a title, text or place that cannot be, NotFound for a project or parent that is not there,
    Conflict when another document has the key.
    """
    text = _validated(new.title, new.description, new.content)
    project = None if new.project is None else catalogue.get_project(principal, tx, new.project)
    if project is None and new.parent is not None:
        raise InvalidRequest("parent: only a project's document can have a parent; name the project, too")
    properties = {**_properties(tx, text.description, new.state), **(new.properties or {})}
    home = project.handle if project else None
    record_input = RecordInput(
        DOCUMENT_TYPE, text.title, new.key, properties, new.classification, home, new.is_unverified
    )
    record = crud.create_record(principal, tx, record_input, now, origin)
    if (existing := store.find_document_of_record(tx, record.id)) is not None:
        return catalogue.get_document(principal, tx, existing.id, team_id)
    columns = {"project_id": project.id if project else None, "is_context": new.is_context}
    document_id = uuid7(now)
    _insert(tx, record, {"id": document_id, **columns, **_columns(text, record.classification, new.state, now)})
    if project is not None:
        placement.place_document(principal, tx, project, document_id, new.parent, new.position, team_id)
        record_links.link(principal, tx, project.id, record.id, _CONTAINS, now)
    _index_text(principal, tx, RowOwner(document_id, record.id), text, record, now)
    log.info("document_created", principal=principal.name, document_id=document_id, characters=len(text.content))
    return catalogue.get_document(principal, tx, document_id, team_id)


def revise_document(
    principal: Principal,
    tx: Transaction,
    ref: RecordRef,
    revision: DocumentPatch,
    now: datetime,
    team_id: UUID | None = None,
    origin: str | None = None,
) -> Document:
    """Change a document's text, title, description, state or level, and its record with it.

    `origin` names the call that changes it, as for a record. Conflict when the document has another version by now,
    InvalidRequest for a document that came with a pack.
    """
    before, record_id = _lock_document(principal, tx, ref, revision.version, team_id)
    old = catalogue.read_text(tx, before)
    said = _validated(
        before.title if revision.title is None else revision.title,
        before.description if revision.description is None else revision.description,
        old if revision.content is None else revision.content,
    )
    state = before.state if revision.state is None else revision.state
    told: JsonObject = {}
    if (said.description, state) != (before.description, before.state):
        told = _properties(tx, said.description, state)
    text_changes = (
        ()
        if said.content == old
        else (FieldChange("content", "text", "", f"revised{pages.format_changed_sections(old, said.content)}"),)
    )
    title = said.title if said.title != before.title else None
    patch = RecordPatch(title, told, revision.classification, further_changes=text_changes)
    record = crud.update_record(principal, tx, record_id, patch, None, now, origin)
    if text_changes:
        staleness.mark_stale(tx, record_id, "document_changed", now)
    columns = _columns(said, record.classification, state, now)
    if not store.update_document(tx, {"id": before.id, "version": before.version, **columns}):
        raise Conflict(f"{before.handle} was changed by someone else; read it again")
    _index_text(principal, tx, RowOwner(before.id, record_id), said, record, now)
    log.info("document_revised", principal=principal.name, document_id=before.id, characters=len(said.content))
    return catalogue.get_document(principal, tx, before.id, team_id)


def move_document(
    principal: Principal,
    tx: Transaction,
    ref: RecordRef,
    parent: RecordRef | None,
    position: int | None,
    team_id: UUID | None = None,
) -> Document:
    """Give a document another place in its project's tree; what stands under it moves along.

    InvalidRequest for one that is in no tree, or for a place under itself.
    """
    document = catalogue.get_document(principal, tx, ref, team_id)
    if document.project_id is None or document.project is None:
        raise InvalidRequest(f"{document.handle} is in no project's tree and cannot be moved")
    home = catalogue.get_project(principal, tx, document.project_id)
    placement.place_document(principal, tx, home, document.id, parent, position, team_id)
    return document


def delete_document(
    principal: Principal,
    tx: Transaction,
    ref: RecordRef,
    version: int | None,
    now: datetime,
    team_id: UUID | None = None,
) -> None:
    """Delete a document with its record, or a document of a pack. Its children in the tree take its place.

    Applying the pack again does not restore it. Conflict as `revise_document`; Forbidden for a document of a pack
    without the role editor.
    """
    there = catalogue.get_document(principal, tx, ref, team_id)
    if there.origin == "pack":
        require_role(principal, "editor")
        if version is not None and version != there.version:
            raise Conflict(f"{there.handle} is at version {there.version}, not {version}; read it again")
        delete_pack_documents(principal, tx, [there.key], now)
        audit.add_entry(principal, tx, "document.deleted", f"document:{there.id}", {}, now)
        return
    document, record_id = _lock_document(principal, tx, ref, version, team_id)
    delete_record_and_document(principal, tx, record_id, None, now)
    log.info("document_deleted", principal=principal.name, document_id=document.id)


def update_record_and_document(
    principal: Principal,
    tx: Transaction,
    ref: RecordRef,
    patch: RecordPatch,
    version: int | None,
    now: datetime,
) -> Record:
    """Change a record, whatever its kind. What a document is besides follows its record: its pieces read the title that
    it has now, and in another project it stands last in the tree.

    Errors as for a record; InvalidRequest when a project's context document would leave it.
    """
    after = crud.update_record(principal, tx, ref, patch, version, now)
    own = store.find_document_of_record(tx, after.id) if after.type == DOCUMENT_TYPE else None
    if own is None:
        return after
    if patch.project is not ... and own.project_id != own.record_project_id:
        if own.is_context:
            raise InvalidRequest(f"project: {after.handle} is the context document of its project and cannot be moved")
        if own.project_id is not None:
            placement.remove_from_tree(principal, tx, own.project_id, own.id)
            record_links.remove_derived_link(principal, tx, own.project_id, after.id, _CONTAINS, now)
        store.move_document(tx, own.id, own.record_project_id, now)
        if own.record_project_id is not None:
            home = catalogue.get_project(principal, tx, own.record_project_id)
            placement.place_document(principal, tx, home, own.id)
            record_links.link(principal, tx, home.id, after.id, _CONTAINS, now)
    named = patch.properties.get("description") or "" if "description" in patch.properties else own.description
    said = _DocumentText(after.name, str(named)[:_LONGEST_DESCRIPTION], store.read_text(tx, own.id))
    columns = _columns(said, after.classification, str(after.properties.get("state") or ""), now)
    if (columns["content_hash"], said.description) != (own.content_hash, own.description):
        store.update_document(tx, {"id": own.id, "version": own.version, **columns})
        _index_text(principal, tx, RowOwner(own.id, after.id), said, after, now)
    return crud.get_record(principal, tx, after.id)


def delete_record_and_document(
    principal: Principal, tx: Transaction, ref: RecordRef, version: int | None, now: datetime
) -> None:
    """Take a record away, whatever its kind; what stood under a document takes its place. Errors as for a record."""
    record = crud.lock_record(principal, tx, ref, version)
    own = store.find_document_of_record(tx, record.id) if record.type == DOCUMENT_TYPE else None
    crud.delete_record(principal, tx, record.id, None, now)
    if own is not None and own.project_id is not None:
        placement.remove_from_tree(principal, tx, own.project_id, own.id)


def _insert(tx: Transaction, record: Record, columns: Mapping[str, object]) -> None:
    """Insert a document. The key of a deleted one is free."""
    row = {**columns, "record_id": record.id, "key": record.key}
    if not store.add_document(tx, row) and not (
        store.free_deleted_keys(tx, [record.key]) and store.add_document(tx, row)
    ):
        raise Conflict(f"document {record.handle} already exists; choose another key")


def _lock_document(
    principal: Principal, tx: Transaction, ref: RecordRef, version: int | None, team_id: UUID | None
) -> tuple[Document, UUID]:
    """Lock a document that was written here, at the version its reader saw, and return it with its record's id."""
    there = catalogue.get_document(principal, tx, ref, team_id)
    if there.own_entity_id is None:
        raise InvalidRequest(f"{there.handle} belongs to the tenant's pack; change it in the pack")
    crud.lock_record(principal, tx, there.own_entity_id, None)
    found = catalogue.get_document(principal, tx, there.id, team_id)
    if version is not None and version != found.version:
        raise Conflict(f"{found.handle} is at version {found.version}, not {version}; read it again")
    return found, there.own_entity_id


def _index_text(
    principal: Principal,
    tx: Transaction,
    owner: RowOwner,
    said: _DocumentText,
    record: Record,
    now: datetime,
) -> None:
    """Bring the document's searchable pieces in line with its text; they get their vectors later."""
    rows = []
    if type_registry.get_record_type(tx, DOCUMENT_TYPE).settings.is_searchable:
        rows = DocumentDraft(record.key, said.title, said.content, DOCUMENT_TYPE, record.classification).rows()
    stored = index.list_document_rows(tx, [owner.document_id] if owner.document_id else [], "")
    if sync_rows_without_vectors(tx, OwnerRows(owner, rows, is_owner_changed=True), stored, now):
        scheduling.schedule_embedding(tx, principal.tenant_id, now)


def _validated(title: str, description: str, content: str) -> _DocumentText:
    said = _DocumentText(_storable(title).strip(), _storable(description).strip(), _storable(content))
    for name, value, most in (
        ("title", said.title, _LONGEST_TITLE),
        ("description", said.description, _LONGEST_DESCRIPTION),
        ("content", said.content, MAX_CONTENT_CHARS),
    ):
        if len(value) > most:
            raise InvalidRequest(f"{name}: has {len(value):,} characters; the limit is {most:,}")
    if not said.title:
        raise InvalidRequest("title: must not be empty")
    return replace(said, title=" ".join(said.title.split()))


def _storable(text: str) -> str:
    """As a database keeps it, with line ends as `\\n`."""
    whole = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    return whole.encode("utf-8", "ignore").decode()


def _properties(tx: Transaction, description: str, state: str) -> JsonObject:
    """Return the properties that the document's record has from it.

    Only properties that the tenant's document type has; a state that a type of the tenant's own does not know is left
    out.
    """
    known = type_registry.get_record_type(tx, DOCUMENT_TYPE).properties
    choices = choices_of(known.get("state"))
    foreign = bool(choices) and state in _DEFAULT_STATES and state not in choices
    told: JsonObject = {"description": description or None, "state": None if foreign else state or None}
    return {name: value for name, value in told.items() if name in known}


def _columns(said: _DocumentText, classification: int, state: str, now: datetime) -> dict[str, object]:
    kind = _SCRATCH if state == _SCRATCH else DOCUMENT_TYPE
    draft = DocumentDraft("", said.title, said.content, kind, classification)
    return {
        "title": said.title,
        "description": said.description,
        "kind": kind,
        "content": said.content,
        "content_hash": draft.content_hash,
        "classification": classification,
        "now": now,
    }
