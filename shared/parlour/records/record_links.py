"""Edges: typed links between entities, followed one hop when a search is about one of them.

A link is one thing, read from both ends. `link` and `unlink` leave at both ends what every change leaves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.principal import RESTRICTED, Principal
from parlour.records import propagation, relations, store, type_registry
from parlour.records.crud import Record, RecordKey, RecordRef, find_records, get_record, resolve_record_ids
from parlour.records.propagation import LinkEnd
from parlour.records.record import printable_reference
from parlour.records.record_type import RecordType
from parlour.records.relations import Relation
from parlour.records.write_counts import PACK_ORIGIN, WriteCounts
from parlour.records.write_rights import require_change_rights
from parlour.search.index import store as index


@dataclass(frozen=True, slots=True)
class LinkDraft:
    """A link as it should be: `source` relation `target`, as in "invoice/17 bills project/tower"."""

    source: RecordKey
    target: RecordKey
    relation: str


@dataclass(frozen=True, slots=True)
class Link:
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
    source: RecordRef,
    target: RecordRef,
    relation: str,
    now: datetime,
    origin: str | None = None,
) -> Link:
    """Link two records; linking them so again, or with the same `origin`, gives the link that is there.

    NotFound when the principal sees no such record; Forbidden when they may change neither; InvalidRequest for a record
    and itself, and for a relation that is no name or spelt almost like one there is.
    """
    store.lock_tenant(tx)
    if origin and (there := store.find_link_by_origin(tx, origin)):
        ends = get_record(principal, tx, there.source_id), get_record(principal, tx, there.target_id)
        return _to_link(*ends, there.relation)
    ends = _get_both_ends(principal, tx, source, target)
    require_change_rights(principal, *ends)
    name = relations.validate_relation(
        relation, frozenset() if relation in relations.CATALOGUE else store.relations_in_use(tx, principal.clearance)
    )
    columns = {
        "id": uuid7(now),
        "source_id": ends[0].id,
        "target_id": ends[1].id,
        "relation": name,
        "by": principal.name,
        "origin": origin,
        "now": now,
    }
    is_new = store.add_link(tx, columns)
    if is_new:
        _propagate(principal, tx, ends, name, "linked", now)
        log.info("records_linked", principal=principal.name, source_id=ends[0].id, target_id=ends[1].id)
    return _to_link(*ends, name, is_new=is_new)


def unlink(
    principal: Principal,
    tx: Transaction,
    source: RecordRef,
    target: RecordRef,
    relation: str,
    now: datetime,
) -> None:
    """Take a link away.

    NotFound when there is none, or the principal does not see both of its ends; Forbidden when they may change neither.
    """
    store.lock_tenant(tx)
    ends = _get_both_ends(principal, tx, source, target)
    require_change_rights(principal, *ends)
    if not store.delete_link(tx, ends[0].id, ends[1].id, relation.replace("\0", "")):
        raise NotFound(f"{ends[0].handle} has no link '{printable_reference(relation)}' to {ends[1].handle}")
    _propagate(principal, tx, ends, relation, "no longer linked", now)
    log.info("records_unlinked", principal=principal.name, source_id=ends[0].id, target_id=ends[1].id)


def remove_derived_link(
    principal: Principal, tx: Transaction, source_id: UUID, target_id: UUID, relation: str, now: datetime
) -> None:
    """Take a link away that came of something that is no longer so, if it is there: also for a principal who does not
    see both of its ends."""
    if store.delete_link(tx, source_id, target_id, relation):
        ends = {entity.id: entity for entity in store.find_records(tx, [source_id, target_id], [], RESTRICTED)}
        if len(ends) == 2:
            _propagate(principal, tx, (ends[source_id], ends[target_id]), relation, "no longer linked", now)
        log.info("records_unlinked", principal=principal.name, source_id=source_id, target_id=target_id)


def list_relations(principal: Principal, tx: Transaction) -> list[Relation]:
    """Return the catalogue's relations in their order, then others of links that the principal sees."""
    besides = sorted(store.relations_in_use(tx, principal.clearance) - relations.CATALOGUE.keys())
    return [*relations.CATALOGUE.values(), *map(relations.get_relation, besides)]


def _get_both_ends(
    principal: Principal, tx: Transaction, source: RecordRef, target: RecordRef
) -> tuple[Record, Record]:
    found = find_records(principal, tx, [source, target])
    if len(found) == 2:
        return found[0], found[1]
    first, second = get_record(principal, tx, source), get_record(principal, tx, target)
    raise InvalidRequest(f"{first.handle} cannot be linked to {'itself' if first.id == second.id else second.handle}")


def _propagate(
    principal: Principal,
    tx: Transaction,
    ends: tuple[Record, Record],
    name: str,
    how: str,
    now: datetime,
) -> None:
    kinds = {kind: type_registry.get_record_type(tx, kind) for kind in {entity.type for entity in ends}}
    propagation.propagate_links(principal, tx, _as_both_ends(kinds, *ends, name, how), now)


def _as_both_ends(
    kinds: Mapping[str, RecordType], source: Record, target: Record, name: str, how: str
) -> list[LinkEnd]:
    """Return a link as it reads from both ends."""
    out, back = (f"{how}: {relations.relation_phrase(name, outgoing=outgoing)}" for outgoing in (True, False))
    return [
        LinkEnd(kinds[source.type], source, target, f"{out} {target.name} ({target.handle})"),
        LinkEnd(kinds[target.type], target, source, f"{back} {source.name} ({source.handle})"),
    ]


def _to_link(source: Record, target: Record, relation: str, *, is_new: bool = False) -> Link:
    return Link(source.id, target.id, source.handle, target.handle, relation, is_new)


def import_links(principal: Principal, tx: Transaction, drafts: Sequence[LinkDraft], now: datetime) -> WriteCounts:
    """Add the links that are missing, and tell of them at their ends, but for an end that was made with its link: that
    it was created says so. InvalidRequest when an end does not exist."""
    index.lock_tenant(tx)
    different = list(dict.fromkeys(drafts))
    ids = resolve_record_ids(tx, [end for draft in different for end in (draft.source, draft.target)])
    there = {
        (edge.source_id, edge.target_id, edge.relation)
        for edge in store.list_links_from(tx, [ids[draft.source] for draft in different])
    }
    wanted = [(ids[draft.source], ids[draft.target], draft.relation) for draft in different]
    missing = [edge for edge in wanted if edge not in there]
    store.add_links(
        tx,
        [
            {"id": uuid7(now), "source_id": source, "target_id": target, "relation": relation, "now": now}
            for source, target, relation in missing
        ],
    )
    if missing:
        _propagate_imported(principal, tx, missing, now)
    log.info("links_imported", principal=principal.name, added=len(missing))
    return WriteCounts(created=len(missing), unchanged=len(wanted) - len(missing))


def _propagate_imported(
    principal: Principal, tx: Transaction, links: Sequence[tuple[UUID, UUID, str]], now: datetime
) -> None:
    """Every level is read: what is told is as closed as the more closed of the two."""
    ids = {end for source, target, _ in links for end in (source, target)}
    ends = {entity.id: entity for entity in store.find_records(tx, sorted(ids), [], RESTRICTED)}
    kinds = type_registry.list_record_types(tx)
    told = [
        one
        for source, target, relation in links
        for one in _as_both_ends(kinds, ends[source], ends[target], relation, "linked")
        if one.record.created_at != now
    ]
    propagation.propagate_links(principal, tx, told, now, PACK_ORIGIN)


def find_links(tx: Transaction, drafts: Sequence[LinkDraft]) -> set[LinkDraft]:
    """Return those of these links that exist between living records."""
    found = store.find_links_between(
        tx, [one.source for one in drafts], [one.target for one in drafts], [one.relation for one in drafts]
    )
    return {
        LinkDraft(RecordKey(one.source_type, one.source_key), RecordKey(one.target_type, one.target_key), one.relation)
        for one in found
    }


def remove_links(principal: Principal, tx: Transaction, drafts: Sequence[LinkDraft], now: datetime) -> None:
    """Remove these links, whoever sees their ends. InvalidRequest when an end does not exist."""
    ids = resolve_record_ids(tx, [end for draft in drafts for end in (draft.source, draft.target)])
    for draft in drafts:
        remove_derived_link(principal, tx, ids[draft.source], ids[draft.target], draft.relation, now)


def export_links(principal: Principal, tx: Transaction) -> list[LinkDraft]:
    """Every link between entities that the principal may see, by its ends' keys."""
    return [
        LinkDraft(
            RecordKey(edge.source_type, edge.source_key), RecordKey(edge.target_type, edge.target_key), edge.relation
        )
        for edge in store.list_all_links(tx, principal.clearance)
    ]
