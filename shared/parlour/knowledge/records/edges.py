"""Edges: typed links between entities, followed one hop when a search is about one of them.

A link is one thing, read from both ends. `link` and `unlink` leave at both ends what every change leaves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.ids import NewId
from parlour.infra.postgres import Transaction
from parlour.knowledge.index import store as index
from parlour.knowledge.records import registry, relations, store, trail
from parlour.knowledge.records.changes import PACK, Changes
from parlour.knowledge.records.definition import Definition
from parlour.knowledge.records.entities import Entity, EntityKey, Ref, find_entities, read, read_many
from parlour.knowledge.records.record import shown
from parlour.knowledge.records.relations import Relation
from parlour.knowledge.records.trail import Joined
from parlour.principal import RESTRICTED, Principal


@dataclass(frozen=True, slots=True)
class EdgeDraft:
    """A link as it should be: `source` relation `target`, as in "invoice/17 bills project/tower"."""

    source: EntityKey
    target: EntityKey
    relation: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A link there is: `source` relation `target`, by handles. `is_new`: it was not there before."""

    source_id: UUID
    target_id: UUID
    source: str
    target: str
    relation: str
    is_new: bool = False


def link(
    principal: Principal,
    tx: Transaction,
    source: Ref,
    target: Ref,
    relation: str,
    now: datetime,
    new_id: NewId,
    origin: str | None = None,
) -> Edge:
    """Link two records; linking them so again, or with the same `origin`, gives the link that is there.

    NotFound when the principal sees no such record; InvalidRequest for a record and itself, and for a relation that
    is no name or spelt almost like one there is.
    """
    store.join_writers(tx)
    if origin and (there := store.edge_of_origin(tx, origin)):
        ends = read(principal, tx, there.source_id), read(principal, tx, there.target_id)
        return _edge(*ends, there.relation)
    ends = _ends(principal, tx, source, target)
    name = _relation(tx, relation, principal.clearance)
    columns = {
        "id": new_id(now),
        "source_id": ends[0].id,
        "target_id": ends[1].id,
        "relation": name,
        "by": principal.name,
        "origin": origin,
        "now": now,
    }
    is_new = store.link(tx, columns)
    if is_new:
        _tell(principal, tx, ends, name, "linked", now, new_id)
        log.info("records_linked", principal=principal.name, source_id=ends[0].id, target_id=ends[1].id)
    return _edge(*ends, name, is_new=is_new)


def unlink(
    principal: Principal, tx: Transaction, source: Ref, target: Ref, relation: str, now: datetime, new_id: NewId
) -> None:
    """Take a link away; NotFound when there is none, or the principal does not see both of its ends."""
    store.join_writers(tx)
    ends = _ends(principal, tx, source, target)
    if not store.unlink(tx, ends[0].id, ends[1].id, relation.replace("\0", "")):
        raise NotFound(f"{ends[0].handle} has no link '{shown(relation)}' to {ends[1].handle}")
    _tell(principal, tx, ends, relation, "no longer linked", now, new_id)
    log.info("records_unlinked", principal=principal.name, source_id=ends[0].id, target_id=ends[1].id)


def drop(
    principal: Principal, tx: Transaction, source_id: UUID, target_id: UUID, relation: str, now: datetime, new_id: NewId
) -> None:
    """Take a link away that came of something that is no longer so, if it is there: also for a principal who does not
    see both of its ends."""
    if store.unlink(tx, source_id, target_id, relation):
        ends = {entity.id: entity for entity in store.records(tx, [source_id, target_id], [], RESTRICTED)}
        if len(ends) == 2:
            _tell(principal, tx, (ends[source_id], ends[target_id]), relation, "no longer linked", now, new_id)
        log.info("records_unlinked", principal=principal.name, source_id=source_id, target_id=target_id)


def relations_known(principal: Principal, tx: Transaction) -> list[Relation]:
    """The catalogue's relations in their order, then those that the principal meets on the tenant's links besides."""
    besides = sorted(store.relations_in_use(tx, principal.clearance) - relations.CATALOGUE.keys())
    return [*relations.CATALOGUE.values(), *map(relations.relation, besides)]


def _ends(principal: Principal, tx: Transaction, source: Ref, target: Ref) -> tuple[Entity, Entity]:
    found = read_many(principal, tx, [source, target])
    if len(found) == 2:
        return found[0], found[1]
    first, second = read(principal, tx, source), read(principal, tx, target)
    raise InvalidRequest(f"{first.handle} cannot be linked to {'itself' if first.id == second.id else second.handle}")


def _relation(tx: Transaction, name: str, clearance: int) -> str:
    """The relation, when it is one of the catalogue's, one that the writer meets, or a new name unlike all of them."""
    return relations.check(name, frozenset() if name in relations.CATALOGUE else store.relations_in_use(tx, clearance))


def _tell(
    principal: Principal,
    tx: Transaction,
    ends: tuple[Entity, Entity],
    name: str,
    how: str,
    now: datetime,
    new_id: NewId,
) -> None:
    kinds = {kind: registry.definition(tx, kind) for kind in {entity.type for entity in ends}}
    trail.joined(principal, tx, _both(kinds, *ends, name, how), now, new_id)


def _both(kinds: Mapping[str, Definition], source: Entity, target: Entity, name: str, how: str) -> list[Joined]:
    """A link as it reads from both ends."""
    out, back = (f"{how}: {relations.reads(name, outgoing=outgoing)}" for outgoing in (True, False))
    return [
        Joined(kinds[source.type], source, target, f"{out} {target.name} ({target.handle})"),
        Joined(kinds[target.type], target, source, f"{back} {source.name} ({source.handle})"),
    ]


def _edge(source: Entity, target: Entity, relation: str, *, is_new: bool = False) -> Edge:
    return Edge(source.id, target.id, source.handle, target.handle, relation, is_new)


def write_edges(
    principal: Principal, tx: Transaction, drafts: Sequence[EdgeDraft], now: datetime, new_id: NewId
) -> Changes:
    """Add the links that are missing, and tell of them at their ends, but for an end that was made with its link: that
    it was created says so. InvalidRequest when an end does not exist."""
    index.hold_tenant(tx)
    different = list(dict.fromkeys(drafts))
    ids = find_entities(tx, [end for draft in different for end in (draft.source, draft.target)])
    there = {
        (edge.source_id, edge.target_id, edge.relation)
        for edge in store.stored_edges(tx, [ids[draft.source] for draft in different])
    }
    wanted = [(ids[draft.source], ids[draft.target], draft.relation) for draft in different]
    missing = [edge for edge in wanted if edge not in there]
    store.add_edges(
        tx,
        [
            {"id": new_id(now), "source_id": source, "target_id": target, "relation": relation, "now": now}
            for source, target, relation in missing
        ],
    )
    if missing:
        _tell_all(principal, tx, missing, now, new_id)
    log.info("edges_written", principal=principal.name, added=len(missing))
    return Changes(created=len(missing), unchanged=len(wanted) - len(missing))


def _tell_all(
    principal: Principal, tx: Transaction, links: Sequence[tuple[UUID, UUID, str]], now: datetime, new_id: NewId
) -> None:
    """Every level is read: what is told is as closed as the more closed of the two."""
    ids = {end for source, target, _ in links for end in (source, target)}
    ends = {entity.id: entity for entity in store.records(tx, sorted(ids), [], RESTRICTED)}
    kinds = registry.definitions(tx)
    told = [
        one
        for source, target, relation in links
        for one in _both(kinds, ends[source], ends[target], relation, "linked")
        if one.entity.created_at != now
    ]
    trail.joined(principal, tx, told, now, new_id, PACK)


def read_edges(principal: Principal, tx: Transaction) -> list[EdgeDraft]:
    """Every link between entities that the principal may see, by its ends' keys."""
    return [
        EdgeDraft(
            EntityKey(edge.source_type, edge.source_key), EntityKey(edge.target_type, edge.target_key), edge.relation
        )
        for edge in store.all_edges(tx, principal.clearance)
    ]
