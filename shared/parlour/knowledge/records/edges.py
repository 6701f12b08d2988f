"""Edges: typed links between entities, followed one hop when a search is about one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from parlour.infra import log
from parlour.infra.ids import NewId
from parlour.infra.postgres import Transaction
from parlour.knowledge.index import store as index
from parlour.knowledge.records import store
from parlour.knowledge.records.changes import Changes
from parlour.knowledge.records.entities import EntityKey, find_entities
from parlour.principal import Principal


@dataclass(frozen=True, slots=True)
class EdgeDraft:
    """A link as it should be: `source` relation `target`, as in "invoice/17 bills project/tower"."""

    source: EntityKey
    target: EntityKey
    relation: str


def write_edges(
    principal: Principal, tx: Transaction, drafts: Sequence[EdgeDraft], now: datetime, new_id: NewId
) -> Changes:
    """Add the links that are missing; InvalidRequest when an end does not exist."""
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
    log.info("edges_written", principal=principal.name, added=len(missing))
    return Changes(created=len(missing), unchanged=len(wanted) - len(missing))


def read_edges(principal: Principal, tx: Transaction) -> list[EdgeDraft]:
    """Every link between entities that the principal may see, by its ends' keys."""
    return [
        EdgeDraft(
            EntityKey(edge.source_type, edge.source_key), EntityKey(edge.target_type, edge.target_key), edge.relation
        )
        for edge in store.all_edges(tx, principal.clearance)
    ]
