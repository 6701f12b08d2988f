"""The tools that write records: each call one transaction, done once however often it is made.

They act as the turn's principal, who can change what they can see. What they make keeps what it was taken from: its
sources' titles, clauses and pages, a link to each record that these were read in, and their level of secrecy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from parlour.documents import authored_documents, catalogue, projects
from parlour.documents.authored_documents import NewDocument
from parlour.infra.errors import InvalidArguments, InvalidRequest, NotFound
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queues import DelayedQueue
from parlour.records import crud, record_links, type_registry
from parlour.records.crud import Record, RecordInput, RecordPatch
from parlour.records.record import PROJECT_TYPE
from parlour.records.record_links import Link
from parlour.tools.builtin import agent_writes, create_requests, record_json, store
from parlour.tools.builtin.cited_sources import REFERENCES_RELATION, SourceSet, read_cited_sources
from parlour.tools.builtin.create_requests import CreateRequest, reject_unknown_fields
from parlour.tools.builtin.definitions import MAX_CREATED
from parlour.tools.builtin.document_tools import require_document
from parlour.tools.builtin.model_arguments import (
    argument_message,
    full_handle,
    request_embedding,
    require_records,
    text_argument,
    translate_errors,
)
from parlour.tools.builtin.operations import ALREADY_DONE_NOTE
from parlour.tools.run import BuiltinTool, ToolContext

_CONTAINS = "contains"
_DOCUMENT_FIELDS = ("description", "state")


@dataclass(slots=True)
class _CreatedRecords:
    """What a call has made so far: the records that it names, in order, and all that came of them."""

    requested: list[Record] = field(default_factory=list)
    entity_json: list[Json] = field(default_factory=list)
    edge_json: list[Json] = field(default_factory=list)

    def link(self, source: str, relation: str, target: str) -> None:
        """One link more, unless it was told."""
        edge: JsonObject = {"from": source, "relation": relation, "to": target}
        if edge not in self.edge_json:
            self.edge_json.append(edge)

    def to_json(self) -> JsonObject:
        """As the model reads it."""
        return {"entities_created": self.entity_json, "edges_created": self.edge_json}


def create_entity(embedding: DelayedQueue) -> BuiltinTool:
    """Return the built-in that creates records, linked to each other, to existing ones and to their sources."""

    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        drafts = create_requests.parse_create_requests(arguments)
        with translate_errors():
            made = context.write(lambda tx: _create_all(context, tx, drafts))
        request_embedding(context, embedding)
        return made.to_json()

    return run


def lookup_created(context: ToolContext) -> JsonObject | None:
    """Return what a call of create_entity made, if it did; all of it is made at once, or nothing."""
    origins = [_origin(context, at) or "" for at in range(MAX_CREATED)]
    made = context.database.run(
        context.principal, lambda tx: store.find_created_records(tx, origins, context.principal.clearance)
    )
    found: list[Json] = [{"handle": record.handle} for record in made]
    return {"entities_created": found, "note": "This was done before; get_entity tells the rest."} if found else None


def update_entity(embedding: DelayedQueue) -> BuiltinTool:
    """Return the built-in that changes a record's name, properties or, of a document, text."""

    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        kind, name, text, addition = (text_argument(arguments, key) for key in ("kind", "name", "text", "append"))
        handle, properties = full_handle(text_argument(arguments, "entity"), kind), arguments.get("properties")
        patch = RecordPatch(name or None, properties if isinstance(properties, dict) else {})
        if kind and not handle.startswith(f"{kind}/"):
            raise InvalidArguments(f"kind: {handle} is not of kind {kind}; leave kind out, or correct the handle")
        if not name and not text and not addition and not patch.properties:
            raise InvalidArguments("properties: say what changes: name, properties, text or append")
        if text and addition:
            raise InvalidArguments("append: text is the whole document; give one of the two")
        if "sources" in patch.properties:
            raise InvalidArguments("properties.sources: what a record was taken from is not changed afterwards")
        with translate_errors():
            before, after = context.write(lambda tx: _update(context, tx, handle, patch, text, addition))
        request_embedding(context, embedding)
        # What a change came to, so that the reply can say it.
        if after is None:
            return {"handle": before.handle, "name": before.name, "version": before.version, "note": ALREADY_DONE_NOTE}
        names = sorted({**before.properties, **after.properties})
        changed: JsonObject = {
            name: {"was": before.properties.get(name), "is": after.properties.get(name)}
            for name in names
            if before.properties.get(name) != after.properties.get(name)
        }
        if before.name != after.name:
            changed["name"] = {"was": before.name, "is": after.name}
        if text or addition:
            changed["text"] = "written"
        told: JsonObject = {"handle": after.handle, "name": after.name, "version": after.version, "changed": changed}
        told |= record_json.visibility(after)
        return told if changed else {**told, "note": "It was so already."}

    return run


def link_entities(embedding: DelayedQueue) -> BuiltinTool:
    """Return the built-in that links records, or unlinks them."""

    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        asked = arguments["links"]
        given = [link for link in asked if isinstance(link, dict)] if isinstance(asked, list) else []
        links = [_parse_link(link, at) for at, link in enumerate(given)]
        if not links:
            raise InvalidArguments("links: say at least one, as {from, relation, to}")
        act = _unlink if arguments.get("remove") is True else _link
        with translate_errors():
            done = context.write(lambda tx: act(context, tx, links))
        request_embedding(context, embedding)
        return done

    return run


def _create_all(context: ToolContext, tx: Transaction, drafts: Sequence[CreateRequest]) -> _CreatedRecords:
    """Everything that a call asks for, in one transaction."""
    books = read_cited_sources(
        context.principal, tx, context.session_id, [number for draft in drafts for number in draft.sources]
    )
    home = _conversation_project(context, tx)
    made = _CreatedRecords()
    sources: list[SourceSet] = []
    for at, draft in enumerate(drafts):
        place = f"more[{at - 1}]." if at else ""
        sources.append(books.resolve(draft.sources, f"{place}sources"))
        _check_handles(context, tx, draft, place)
        try:
            _create_one(context, tx, draft, sources[-1], home, at, made)
        except (InvalidRequest, NotFound) as error:
            raise InvalidArguments(f"{place}{argument_message(error)}") from error
    for at, draft in enumerate(drafts):
        targets = [
            (link.relation, made.requested[link.target].handle if isinstance(link.target, int) else link.target)
            for link in draft.links
        ]
        targets += [(REFERENCES_RELATION, handle) for handle in sources[at].handles]
        source = made.requested[at]
        for relation, target in targets:
            if target != source.handle:
                edge = record_links.link(context.principal, tx, source.id, target, relation, context.now)
                made.link(edge.source, edge.relation, edge.target)
    agent_writes.record_creation(context, tx, made.requested)
    return made


def _create_one(
    context: ToolContext,
    tx: Transaction,
    draft: CreateRequest,
    sources: SourceSet,
    home: str,
    at: int,
    made: _CreatedRecords,
) -> None:
    """One record of a call. A document gets its place, a project its context document."""
    principal, now, origin = context.principal, context.now, _origin(context, at)
    project = full_handle(draft.project, PROJECT_TYPE) or ("" if draft.type == PROJECT_TYPE else home)
    properties = sources.add_to_properties(draft.properties)
    level = _classification_for(context, tx, draft.type, project, sources)
    is_unverified = context.has_untrusted_text
    new = RecordInput(draft.type, draft.name, "", properties, level, project or None, is_unverified)
    if draft.type == PROJECT_TYPE:
        begun = projects.create_project(principal, tx, new, draft.text, now, origin)
        entity, context_document = begun.project, begun.context_document
        made.entity_json += [
            record_json.record_reference(entity),
            {"handle": context_document.handle, "name": context_document.title},
        ]
        made.link(entity.handle, _CONTAINS, context_document.handle)
    elif draft.type == authored_documents.DOCUMENT_TYPE:
        document = authored_documents.create_document(
            principal,
            tx,
            NewDocument(
                project=project or None,
                title=draft.name,
                content=draft.text,
                description=text_argument(properties, "description"),
                state=text_argument(properties, "state") or "draft",
                parent=full_handle(draft.parent, authored_documents.DOCUMENT_TYPE) or None,
                classification=level,
                properties={name: value for name, value in properties.items() if name not in _DOCUMENT_FIELDS},
                is_unverified=is_unverified,
            ),
            origin=origin,
            now=now,
        )
        entity = crud.get_record(principal, tx, document.handle)
        made.entity_json.append(record_json.record_reference(entity))
        if project:
            made.link(project, _CONTAINS, entity.handle)
    else:
        entity = crud.create_record(principal, tx, new, now, origin)
        made.entity_json.append(record_json.record_reference(entity))
    made.requested.append(entity)


def _update(
    context: ToolContext, tx: Transaction, handle: str, patch: RecordPatch, text: str, addition: str
) -> tuple[Record, Record | None]:
    """Return a record before and after a change; None when this call made the change before.

    Somebody else may have undone it since; it is not made again.
    """
    principal = context.principal
    (found,) = require_records(principal, tx, [handle], "entity")
    before, origin = crud.lock_record(principal, tx, found.id, None), _origin(context, 0)
    if before.type != authored_documents.DOCUMENT_TYPE and (text or addition):
        raise InvalidArguments(
            f"{'text' if text else 'append'}: only a document has one, and {handle} is none; use properties"
        )
    if origin and crud.has_change_of_origin(tx, before.id, origin):
        return before, None
    old_text = ""
    if before.type == authored_documents.DOCUMENT_TYPE:
        document = catalogue.get_document(principal, tx, before.handle, context.team_id)
        old_text = catalogue.read_text(tx, document)
        text = f"{old_text.rstrip()}\n\n{addition}".lstrip() if addition else text
    after = _apply_update(context, tx, before, patch, text, origin)
    agent_writes.record_update(context, tx, before, after, (old_text, text or old_text))
    return before, after


def _apply_update(
    context: ToolContext, tx: Transaction, before: Record, patch: RecordPatch, text: str, origin: str | None
) -> Record:
    """Change a record and, of a document, its text; return it as it is then."""
    principal, now, handle = context.principal, context.now, before.handle
    level = context.shown_level if context.shown_level > before.classification else None
    rest = replace(patch, classification=level)
    if before.type == authored_documents.DOCUMENT_TYPE:
        description, state = (
            (text_argument(patch.properties, name) if name in patch.properties else None) for name in _DOCUMENT_FIELDS
        )
        revision = authored_documents.DocumentPatch(
            title=patch.name, description=description, content=text or None, state=state, classification=level
        )
        authored_documents.revise_document(principal, tx, handle, revision, now, context.team_id, origin)
        others = {name: value for name, value in patch.properties.items() if name not in _DOCUMENT_FIELDS}
        rest = RecordPatch(properties=others)
    if rest.name or rest.properties:
        return crud.update_record(principal, tx, before.id, rest, None, now, origin=origin)
    return crud.get_record(principal, tx, before.id)


def _link(context: ToolContext, tx: Transaction, links: Sequence[tuple[str, str, str]]) -> JsonObject:
    require_records(context.principal, tx, [end for source, _, target in links for end in (source, target)], "links")
    principal, now = context.principal, context.now
    done: list[Link] = []
    for at, (source, relation, target) in enumerate(links):
        edge = record_links.link(principal, tx, source, target, relation, now, _origin(context, at))
        done.append(edge)
        if edge.is_new:
            _record_link(context, tx, at, (edge.source, edge.relation, edge.target), is_removed=False)
    return {"edges_created": record_json.links_json(done)}


def _unlink(context: ToolContext, tx: Transaction, links: Sequence[tuple[str, str, str]]) -> JsonObject:
    """Unlink records; a missing link is reported, not refused: the call may run a second time."""
    require_records(context.principal, tx, [end for source, _, target in links for end in (source, target)], "links")
    removed: list[Json] = []
    absent: list[Json] = []
    for at, (source, relation, target) in enumerate(links):
        edge: JsonObject = {"from": source, "relation": relation, "to": target}
        try:
            record_links.unlink(context.principal, tx, source, target, relation, context.now)
            removed.append(edge)
            _record_link(context, tx, at, (source, relation, target), is_removed=True)
        except NotFound:
            absent.append(edge)
    done: JsonObject = {"edges_removed": removed}
    return {**done, "not_there": absent} if absent else done


def _record_link(
    context: ToolContext, tx: Transaction, at: int, link: tuple[str, str, str], *, is_removed: bool
) -> None:
    source, relation, target = link
    ends = crud.get_record(context.principal, tx, source), crud.get_record(context.principal, tx, target)
    agent_writes.record_link(context, tx, at, ends, relation, is_removed=is_removed)


def _conversation_project(context: ToolContext, tx: Transaction) -> str:
    """Return the project of the record that the conversation is about: new records belong there, too."""
    if context.entity_id is None:
        return ""
    about = crud.find_records(context.principal, tx, [context.entity_id])
    return next(((record.handle if record.type == PROJECT_TYPE else record.project) or "" for record in about), "")


def _check_handles(context: ToolContext, tx: Transaction, draft: CreateRequest, place: str) -> None:
    """Check that the records that a draft names exist; else list those that do."""
    if draft.project:
        require_records(context.principal, tx, [full_handle(draft.project, PROJECT_TYPE)], f"{place}project")
    if draft.parent:
        require_document(context, tx, full_handle(draft.parent, authored_documents.DOCUMENT_TYPE), f"{place}parent")
    if targets := [link.target for link in draft.links if isinstance(link.target, str)]:
        require_records(context.principal, tx, targets, f"{place}links")


def _classification_for(
    context: ToolContext, tx: Transaction, kind: str, project: str, sources: SourceSet
) -> int | None:
    """Return a level no lower than the conversation has shown; None leaves it to the kind and the project."""
    shown = max(sources.classification, context.shown_level)
    if not shown:
        return None
    own = type_registry.get_record_type(tx, kind).settings.classification
    above = crud.get_record(context.principal, tx, project).classification if project else 0
    return max(own, above, shown)


def _parse_link(link: JsonObject, at: int) -> tuple[str, str, str]:
    """Source, relation and target of one link."""
    reject_unknown_fields(link, ("from", "relation", "to"), f"links[{at}]")
    if text_argument(link, "from") == text_argument(link, "to"):
        raise InvalidArguments(
            f"links[{at}]: {text_argument(link, 'from')} cannot be linked to itself; name another record"
        )
    return text_argument(link, "from"), text_argument(link, "relation"), text_argument(link, "to")


def _origin(context: ToolContext, at: int) -> str | None:
    return f"{context.idempotency_key}/{at}" if context.idempotency_key else None
