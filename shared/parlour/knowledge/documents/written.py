"""Documents that people and agents write: text that is kept whole, a record of the kind `document`, a place in its
project's tree, and pieces to be found by.

Whoever calls these has the tenant's rows embedded once they are committed (`index.pending.nudge`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import Conflict, InvalidRequest
from parlour.infra.ids import NewId
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.documents import catalogue, pages, places, store
from parlour.knowledge.documents.documents import DocumentDraft
from parlour.knowledge.documents.store import Document, OwnDocument
from parlour.knowledge.index import pending
from parlour.knowledge.index import store as index
from parlour.knowledge.index.reindex import Entry, rewrite
from parlour.knowledge.index.store import Owner
from parlour.knowledge.records import edges, entities, registry, stale
from parlour.knowledge.records.deltas import Difference
from parlour.knowledge.records.properties import choices_of
from parlour.knowledge.records.record import Entity, NewEntity, Patch, Ref
from parlour.principal import Principal

KIND = "document"
LONGEST = 200_000
"""Characters of a document, about 50,000 tokens of English; what is longer is uploaded as a file."""

_LONGEST_TITLE = 300
_LONGEST_DESCRIPTION = 1_000
_SCRATCH = "scratch"
_CONTAINS = "contains"
_OUR_STATES = frozenset({"draft", "published"})
"""What a document's state is when nobody says."""


@dataclass(frozen=True, slots=True)
class Revision:
    """What to change of a document; None stays as it is."""

    title: str | None = None
    description: str | None = None
    content: str | None = None
    state: str | None = None
    classification: int | None = None


@dataclass(frozen=True, slots=True)
class _Text:
    """What a document says, checked."""

    title: str
    description: str
    content: str


def create(
    principal: Principal,
    tx: Transaction,
    project: Ref | None,
    title: str,
    description: str = "",
    content: str = "",
    *,
    parent: Ref | None = None,
    position: int | None = None,
    state: str = "draft",
    is_context: bool = False,
    key: str = "",
    classification: int | None = None,
    properties: Mapping[str, Json] | None = None,
    team_id: UUID | None = None,
    origin: str | None = None,
    now: datetime,
    new_id: NewId,
) -> Document:
    """Write a document. With a project it gets a place in its tree, under `parent` or at the top, as number `position`
    from 0 among its siblings or behind the last. The same `origin` again returns the one made before.

    classification  None: what its kind says, or what its project has, whichever is higher.
    properties      further properties of its record.
    team_id         the team in whose conversation it is written. What is written is everybody's, up to its level: its
                    record is read by whoever may see that. A team's own documents are files.

    InvalidRequest for a title, text or place that cannot be, NotFound for a project or parent that is not there,
    Conflict when another document has the key.
    """
    said = _checked(title, description, content)
    home = None if project is None else catalogue.project(principal, tx, project)
    if home is None and parent is not None:
        raise InvalidRequest("parent: only a project's document stands under another; name the project, too")
    told = {**_properties(tx, said.description, state), **(properties or {})}
    new = NewEntity(KIND, said.title, key, told, classification, home.handle if home else None)
    record = entities.create(principal, tx, new, now, new_id, origin)
    if (there := store.document_of_record(tx, record.id)) is not None:
        return catalogue.find(principal, tx, there.id, team_id)
    own = {"project_id": home.id if home else None, "is_context": is_context}
    document_id = new_id(now)
    _add(tx, record, {"id": document_id, **own, **_columns(said, record.classification, state, now)})
    if home is not None:
        places.put(principal, tx, home, document_id, parent, position, team_id)
        edges.link(principal, tx, home.id, record.id, _CONTAINS, now, new_id)
    _index(principal, tx, Owner(document_id, record.id), said, record, now, new_id)
    log.info("document_written", principal=principal.name, document_id=document_id, characters=len(said.content))
    return catalogue.find(principal, tx, document_id, team_id)


def revise(
    principal: Principal,
    tx: Transaction,
    ref: Ref,
    revision: Revision,
    version: int | None,
    now: datetime,
    new_id: NewId,
    team_id: UUID | None = None,
    origin: str | None = None,
) -> Document:
    """Change a document's text, title, description, state or level; its record changes with it, and what changed is
    told of both. `version` is the document's as its reader saw it; None does not look. `origin`: as for a record.

    Conflict when it has another version by now, InvalidRequest for a document that came with a pack.
    """
    before, record_id = _held(principal, tx, ref, version, team_id)
    old = catalogue.text(tx, before)
    said = _checked(
        before.title if revision.title is None else revision.title,
        before.description if revision.description is None else revision.description,
        old if revision.content is None else revision.content,
    )
    state = before.state if revision.state is None else revision.state
    told: JsonObject = {}
    if (said.description, state) != (before.description, before.state):
        told = _properties(tx, said.description, state)
    patch = Patch(said.title if said.title != before.title else None, told, revision.classification)
    also = [] if said.content == old else [Difference("content", "text", "", f"revised{pages.told(old, said.content)}")]
    record = entities.change(principal, tx, record_id, patch, None, now, new_id, also, origin)
    if also:
        stale.mark(tx, record_id, "document_changed", now)
    columns = _columns(said, record.classification, state, now)
    if not store.revise_document(tx, {"id": before.id, "version": before.version, **columns}):
        raise Conflict(f"{before.handle} was changed by somebody else just now; read it again")
    _index(principal, tx, Owner(before.id, record_id), said, record, now, new_id)
    log.info("document_revised", principal=principal.name, document_id=before.id, characters=len(said.content))
    return catalogue.find(principal, tx, before.id, team_id)


def move(
    principal: Principal,
    tx: Transaction,
    ref: Ref,
    parent: Ref | None,
    position: int | None,
    team_id: UUID | None = None,
) -> Document:
    """Give a document another place in its project's tree; what stands under it moves along.

    InvalidRequest for one that is in no tree, or for a place under itself.
    """
    document = catalogue.find(principal, tx, ref, team_id)
    if document.project_id is None or document.project is None:
        raise InvalidRequest(f"{document.handle} is in no project's tree; it has no place to change")
    home = catalogue.project(principal, tx, document.project_id)
    places.put(principal, tx, home, document.id, parent, position, team_id)
    return document


def remove(
    principal: Principal,
    tx: Transaction,
    ref: Ref,
    version: int | None,
    now: datetime,
    new_id: NewId,
    team_id: UUID | None = None,
) -> None:
    """Take a document away: it is not found any more from now on, and what stood under it takes its place.

    Conflict and InvalidRequest as for `revise`.
    """
    document, record_id = _held(principal, tx, ref, version, team_id)
    delete(principal, tx, record_id, None, now, new_id)
    log.info("document_removed", principal=principal.name, document_id=document.id)


def change(
    principal: Principal, tx: Transaction, ref: Ref, patch: Patch, version: int | None, now: datetime, new_id: NewId
) -> Entity:
    """Change a record, whatever its kind. What a document is besides follows its record: its pieces read the title that
    it has now, and in another project it stands last in the tree.

    Errors as for a record; InvalidRequest when a project's context document would leave it.
    """
    after = entities.change(principal, tx, ref, patch, version, now, new_id)
    own = store.document_of_record(tx, after.id) if after.type == KIND else None
    if own is None:
        return after
    if patch.project is not ... and own.project_id != own.home_id:
        _take_along(principal, tx, own, after, now, new_id)
    _say_as_recorded(principal, tx, own, after, patch, now, new_id)
    return entities.read(principal, tx, after.id)


def delete(principal: Principal, tx: Transaction, ref: Ref, version: int | None, now: datetime, new_id: NewId) -> None:
    """Take a record away, whatever its kind; what stood under a document takes its place. Errors as for a record."""
    record = entities.hold(principal, tx, ref, version)
    own = store.document_of_record(tx, record.id) if record.type == KIND else None
    entities.delete(principal, tx, record.id, None, now, new_id)
    if own is not None and own.project_id is not None:
        places.take_out(principal, tx, own.project_id, own.id)


def _add(tx: Transaction, record: Entity, columns: Mapping[str, object]) -> None:
    """A new document; the key of one that was deleted is free."""
    row = {**columns, "record_id": record.id, "key": record.key}
    if not store.add_document(tx, row) and not (store.free_keys(tx, [record.key]) and store.add_document(tx, row)):
        raise Conflict(f"there is a document {record.handle} already; choose another key")


def _held(
    principal: Principal, tx: Transaction, ref: Ref, version: int | None, team_id: UUID | None
) -> tuple[Document, UUID]:
    """A document that may be changed here, with its record, at the version that its reader saw; nobody else changes
    it until the transaction ends."""
    there = catalogue.find(principal, tx, ref, team_id)
    if there.record_id is None:
        raise InvalidRequest(f"{there.handle} came with the tenant's pack; change it there")
    entities.hold(principal, tx, there.record_id, None)
    found = catalogue.find(principal, tx, there.id, team_id)
    if version is not None and version != found.version:
        raise Conflict(f"{found.handle} is at version {found.version}, not {version}; read it again")
    return found, there.record_id


def _take_along(
    principal: Principal, tx: Transaction, own: OwnDocument, record: Entity, now: datetime, new_id: NewId
) -> None:
    """Out of the tree that the document was in, and behind the last of the project that its record is in now."""
    if own.is_context:
        raise InvalidRequest(f"project: {record.handle} says what its project is for; it stays there")
    if own.project_id is not None:
        places.take_out(principal, tx, own.project_id, own.id)
        edges.drop(principal, tx, own.project_id, record.id, _CONTAINS, now, new_id)
    store.move_document(tx, own.id, own.home_id, now)
    if own.home_id is not None:
        home = catalogue.project(principal, tx, own.home_id)
        places.put(principal, tx, home, own.id)
        edges.link(principal, tx, home.id, record.id, _CONTAINS, now, new_id)


def _say_as_recorded(
    principal: Principal, tx: Transaction, own: OwnDocument, record: Entity, patch: Patch, now: datetime, new_id: NewId
) -> None:
    """The document, and every piece of it, is called, described and classified as its record is."""
    named = patch.properties.get("description") or "" if "description" in patch.properties else own.description
    said = _Text(record.name, str(named)[:_LONGEST_DESCRIPTION], store.content(tx, own.id))
    columns = _columns(said, record.classification, str(record.properties.get("state") or ""), now)
    if (columns["content_hash"], said.description) != (own.content_hash, own.description):
        store.revise_document(tx, {"id": own.id, "version": own.version, **columns})
        _index(principal, tx, Owner(own.id, record.id), said, record, now, new_id)


def _index(
    principal: Principal, tx: Transaction, owner: Owner, said: _Text, record: Entity, now: datetime, new_id: NewId
) -> None:
    """Bring the document's searchable pieces in line with its text; they get their vectors later."""
    rows = []
    if registry.definition(tx, KIND).settings.context:
        rows = DocumentDraft(record.key, said.title, said.content, KIND, record.classification).rows()
    stored = index.document_rows(tx, [owner.document_id] if owner.document_id else [], "")
    if rewrite(tx, Entry(owner, rows, changed=True), stored, now, new_id):
        pending.mark(tx, principal.tenant_id, now)


def _checked(title: str, description: str, content: str) -> _Text:
    said = _Text(_clean(title).strip(), _clean(description).strip(), _clean(content))
    for name, value, most in (
        ("title", said.title, _LONGEST_TITLE),
        ("description", said.description, _LONGEST_DESCRIPTION),
        ("content", said.content, LONGEST),
    ):
        if len(value) > most:
            raise InvalidRequest(f"{name}: has {len(value):,} characters; {most:,} are the most")
    if not said.title:
        raise InvalidRequest("title: say what the document is called")
    return replace(said, title=" ".join(said.title.split()))


def _clean(text: str) -> str:
    """As a database keeps it, with line ends as `\\n`."""
    whole = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    return whole.encode("utf-8", "ignore").decode()


def _properties(tx: Transaction, description: str, state: str) -> JsonObject:
    """What the document's record says of it, as far as the tenant's kind of documents has such properties; a state of
    ours that a kind of its own does not know is left out."""
    known = registry.definition(tx, KIND).properties
    choices = choices_of(known.get("state"))
    foreign = bool(choices) and state in _OUR_STATES and state not in choices
    told: JsonObject = {"description": description or None, "state": None if foreign else state or None}
    return {name: value for name, value in told.items() if name in known}


def _columns(said: _Text, classification: int, state: str, now: datetime) -> dict[str, object]:
    kind = _SCRATCH if state == _SCRATCH else KIND
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
