"""The tools that write records: each call one transaction, done once however often it is made.

They act as the turn's principal, who can change what they can see. What they make keeps what it was taken from: its
sources' titles, clauses and pages, a link to each record that these were read in, and their level of secrecy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from parlour.infra.errors import InvalidArguments, InvalidRequest, NotFound
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queues import Delays
from parlour.knowledge.documents import projects, written
from parlour.knowledge.records import edges, entities, registry
from parlour.knowledge.records.entities import Entity, NewEntity, Patch
from parlour.knowledge.records.record import PROJECT
from parlour.knowledge.tools import compound, results, store
from parlour.knowledge.tools.asked import as_argument, find, full, nudge, told, word
from parlour.knowledge.tools.cited import REFERENCES, Sources, shelf
from parlour.knowledge.tools.compound import Draft, check_fields
from parlour.knowledge.tools.definitions import MOST_CREATED
from parlour.knowledge.tools.documents import document_named
from parlour.knowledge.tools.operations import DONE_BEFORE
from parlour.tools.run import Builtin, ToolContext

_CONTAINS = "contains"
_DOCUMENT_FIELDS = ("description", "state")


@dataclass(slots=True)
class _Made:
    """What a call has made so far: the records that it names, in order, and all that came of them."""

    named: list[Entity] = field(default_factory=list)
    entities: list[Json] = field(default_factory=list)
    edges: list[Json] = field(default_factory=list)

    def link(self, source: str, relation: str, target: str) -> None:
        """One link more, unless it was told."""
        edge: JsonObject = {"from": source, "relation": relation, "to": target}
        if edge not in self.edges:
            self.edges.append(edge)

    def told(self) -> JsonObject:
        """As the model reads it."""
        return {"entities_created": self.entities, "edges_created": self.edges}


def create_entity(embedding: Delays) -> Builtin:
    """The built-in that creates one record or several, linked to each other, to what there is and to their sources."""

    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        drafts = compound.read(arguments)
        with told():
            made = context.database.run(context.principal, lambda tx: _create(context, tx, drafts))
        nudge(context, embedding)
        return made.told()

    return run


def look_up_created(context: ToolContext) -> JsonObject | None:
    """What a call of create_entity made, if it did; all of it is made at once, or nothing."""
    origins = [_origin(context, at) or "" for at in range(MOST_CREATED)]
    made = context.database.run(context.principal, lambda tx: store.made(tx, origins, context.principal.clearance))
    found: list[Json] = [{"entity": one.handle} for one in made]
    return {"entities_created": found, "note": "This was done before; get_entity tells the rest."} if found else None


def update_entity(embedding: Delays) -> Builtin:
    """The built-in that changes a record's name, properties or, of a document, text."""

    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        kind, name, text = word(arguments, "kind"), word(arguments, "name"), word(arguments, "text")
        handle, properties = full(word(arguments, "entity"), kind), arguments.get("properties")
        patch = Patch(name or None, properties if isinstance(properties, dict) else {})
        if kind and not handle.startswith(f"{kind}/"):
            raise InvalidArguments(f"kind: {handle} is not of kind {kind}; leave kind out, or correct the handle")
        if not name and not text and not patch.properties:
            raise InvalidArguments("properties: say what changes: name, properties or text")
        if "sources" in patch.properties:
            raise InvalidArguments("properties.sources: what a record was taken from is not changed afterwards")
        with told():
            before, after = context.database.run(
                context.principal, lambda tx: _change(context, tx, handle, patch, text)
            )
        nudge(context, embedding)
        return _changed(before, after, changed_text=bool(text))

    return run


def link_entities(embedding: Delays) -> Builtin:
    """The built-in that links records, or unlinks them."""

    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        asked = arguments["links"]
        given = [link for link in asked if isinstance(link, dict)] if isinstance(asked, list) else []
        links = [_ends(link, at) for at, link in enumerate(given)]
        if not links:
            raise InvalidArguments("links: say at least one, as {from, relation, to}")
        act = _unlink if arguments.get("remove") is True else _link
        with told():
            done = context.database.run(context.principal, lambda tx: act(context, tx, links))
        nudge(context, embedding)
        return done

    return run


def _create(context: ToolContext, tx: Transaction, drafts: Sequence[Draft]) -> _Made:
    """Everything that a call asks for, in one transaction."""
    books = shelf(context.principal, tx, context.session_id, [number for draft in drafts for number in draft.sources])
    home = _home(context, tx)
    made = _Made()
    sources: list[Sources] = []
    for at, draft in enumerate(drafts):
        place = f"more[{at - 1}]." if at else ""
        sources.append(books.take(draft.sources, f"{place}sources"))
        _check_handles(context, tx, draft, place)
        try:
            _make(context, tx, draft, sources[-1], home, at, made)
        except (InvalidRequest, NotFound) as error:
            raise InvalidArguments(f"{place}{as_argument(error)}") from error
    for at, draft in enumerate(drafts):
        targets = [(link.relation, made.named[link.to].handle if isinstance(link.to, int) else link.to)
                   for link in draft.links]  # fmt: skip
        targets += [(REFERENCES, handle) for handle in sources[at].handles]
        _tie(context, tx, made, at, targets)
    return made


def _make(
    context: ToolContext, tx: Transaction, draft: Draft, sources: Sources, home: str, at: int, made: _Made
) -> None:
    """One record of a call. A document gets its place, a project its context document."""
    principal, now, new_id, origin = context.principal, context.now, context.new_id, _origin(context, at)
    project = full(draft.project, PROJECT) or ("" if draft.kind == PROJECT else home)
    properties = sources.on(draft.properties)
    level = _level(context, tx, draft.kind, project, sources)
    new = NewEntity(draft.kind, draft.name, "", properties, level, project or None)
    if draft.kind == PROJECT:
        begun = projects.create_project(principal, tx, new, draft.text, now, new_id, origin)
        entity, context_document = begun.project, begun.context
        made.entities += [results.brief(entity), {"entity": context_document.handle, "name": context_document.title}]
        made.link(entity.handle, _CONTAINS, context_document.handle)
    elif draft.kind == written.KIND:
        document = written.create(
            principal, tx, project=project or None, title=draft.name, content=draft.text,
            description=word(properties, "description"), state=word(properties, "state") or "draft",
            parent=full(draft.parent, written.KIND) or None, classification=level, origin=origin, now=now,
            properties={name: value for name, value in properties.items() if name not in _DOCUMENT_FIELDS},
            new_id=new_id,
        )  # fmt: skip
        entity = entities.read(principal, tx, document.handle)
        made.entities.append(results.brief(entity))
        if project:
            made.link(project, _CONTAINS, entity.handle)
    else:
        entity = entities.create(principal, tx, new, now, new_id, origin)
        made.entities.append(results.brief(entity))
    made.named.append(entity)


def _tie(context: ToolContext, tx: Transaction, made: _Made, at: int, targets: Iterable[tuple[str, str]]) -> None:
    """Link a new record to what its call says, and to where it was read."""
    source = made.named[at]
    for relation, target in targets:
        if target != source.handle:
            edge = edges.link(context.principal, tx, source.id, target, relation, context.now, context.new_id)
            made.link(edge.source, edge.relation, edge.target)


def _change(
    context: ToolContext, tx: Transaction, handle: str, patch: Patch, text: str
) -> tuple[Entity, Entity | None]:
    """A record before and after a change; one that this call has made already, and somebody else may have undone
    since, is not made again: None."""
    principal, now, new_id = context.principal, context.now, context.new_id
    (found,) = find(principal, tx, [handle], "entity")
    before, origin = entities.hold(principal, tx, found.id, None), _origin(context, 0)
    if before.type != written.KIND and text:
        raise InvalidArguments(f"text: only a document has one, and {handle} is none; use properties")
    if origin and entities.was_changed(tx, before.id, origin):
        return before, None
    rest = patch
    if before.type == written.KIND:
        description, state = (_said(patch.properties, name) for name in _DOCUMENT_FIELDS)
        revision = written.Revision(title=patch.name, description=description, content=text or None, state=state)
        written.revise(principal, tx, handle, revision, None, now, new_id, context.team_id, origin)
        others = {name: value for name, value in patch.properties.items() if name not in _DOCUMENT_FIELDS}
        rest = Patch(properties=others)
    if rest.name or rest.properties:
        return before, entities.change(principal, tx, before.id, rest, None, now, new_id, origin=origin)
    return before, entities.read(principal, tx, before.id)


def _link(context: ToolContext, tx: Transaction, links: Sequence[tuple[str, str, str]]) -> JsonObject:
    find(context.principal, tx, [end for source, _, target in links for end in (source, target)], "links")
    principal, now, new_id = context.principal, context.now, context.new_id
    done = [
        edges.link(principal, tx, source, target, relation, now, new_id, _origin(context, at))
        for at, (source, relation, target) in enumerate(links)
    ]
    return {"edges_created": results.edges(done)}


def _unlink(context: ToolContext, tx: Transaction, links: Sequence[tuple[str, str, str]]) -> JsonObject:
    """A link that is not there is told, not refused: the call may be made a second time."""
    find(context.principal, tx, [end for source, _, target in links for end in (source, target)], "links")
    removed: list[Json] = []
    absent: list[Json] = []
    for source, relation, target in links:
        edge: JsonObject = {"from": source, "relation": relation, "to": target}
        try:
            edges.unlink(context.principal, tx, source, target, relation, context.now, context.new_id)
            removed.append(edge)
        except NotFound:
            absent.append(edge)
    done: JsonObject = {"edges_removed": removed}
    return {**done, "not_there": absent} if absent else done


def _home(context: ToolContext, tx: Transaction) -> str:
    """The project of the record that the conversation is about: what is made in it belongs there, too."""
    if context.entity_id is None:
        return ""
    about = entities.read_many(context.principal, tx, [context.entity_id])
    return next(((one.handle if one.type == PROJECT else one.project) or "" for one in about), "")


def _check_handles(context: ToolContext, tx: Transaction, draft: Draft, place: str) -> None:
    """That what a draft names is there; else the model is told what is."""
    if draft.project:
        find(context.principal, tx, [full(draft.project, PROJECT)], f"{place}project")
    if draft.parent:
        document_named(context, tx, full(draft.parent, written.KIND), f"{place}parent")
    if targets := [link.to for link in draft.links if isinstance(link.to, str)]:
        find(context.principal, tx, targets, f"{place}links")


def _level(context: ToolContext, tx: Transaction, kind: str, project: str, sources: Sources) -> int | None:
    """No more open than what it was taken from; None leaves it to the kind and the project."""
    if not sources.classification:
        return None
    own = registry.definition(tx, kind).settings.classification
    above = entities.read(context.principal, tx, project).classification if project else 0
    return max(own, above, sources.classification)


def _changed(before: Entity, after: Entity | None, *, changed_text: bool) -> JsonObject:
    """What a change came to, so that the reply can say it."""
    if after is None:
        return {"entity": before.handle, "name": before.name, "version": before.version, "note": DONE_BEFORE}
    names = sorted({**before.properties, **after.properties})
    changed: JsonObject = {
        name: {"was": before.properties.get(name), "is": after.properties.get(name)}
        for name in names
        if before.properties.get(name) != after.properties.get(name)
    }
    if before.name != after.name:
        changed["name"] = {"was": before.name, "is": after.name}
    told: JsonObject = {"entity": after.handle, "name": after.name, "version": after.version, "changed": changed}
    if changed_text:
        told["text"] = "written"
    return told if changed or changed_text else {**told, "note": "It was so already."}


def _ends(link: JsonObject, at: int) -> tuple[str, str, str]:
    """Source, relation and target of one link."""
    check_fields(link, ("from", "relation", "to"), f"links[{at}]")
    if word(link, "from") == word(link, "to"):
        raise InvalidArguments(f"links[{at}]: {word(link, 'from')} cannot be linked to itself; name another record")
    return word(link, "from"), word(link, "relation"), word(link, "to")


def _said(properties: JsonObject, name: str) -> str | None:
    """What a patch says of a document: None for nothing, "" to take it away."""
    return word(properties, name) if name in properties else None


def _origin(context: ToolContext, at: int) -> str | None:
    return f"{context.idempotency_key}/{at}" if context.idempotency_key else None
