"""Where a document stands in its project's tree: one change of a tree at a time."""

from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.knowledge.documents import catalogue, store, tree
from parlour.knowledge.records.record import Entity, Ref
from parlour.principal import Principal


def put(
    principal: Principal,
    tx: Transaction,
    home: Entity,
    document_id: UUID,
    parent: Ref | None = None,
    position: int | None = None,
    team_id: UUID | None = None,
) -> None:
    """Place a document, new to the tree or not, under `parent` or at the top; without a position behind the last.

    NotFound for a parent that the principal does not see, InvalidRequest for a place that cannot be.
    """
    store.hold_project(tx, home.id)
    seen = catalogue.tree_of(principal, tx, home, team_id)
    above = None if parent is None else catalogue.find(principal, tx, parent, team_id).id
    place = tree.move if document_id in seen.nodes else tree.insert
    after = place(seen.nodes, document_id, above, position, seen.by_id.keys())
    store.place_nodes(tx, home.id, tree.changed(seen.nodes, after))
    if document_id not in seen.nodes:
        store.add_node(tx, home.id, after[document_id])


def take_out(principal: Principal, tx: Transaction, project_id: UUID, document_id: UUID) -> None:
    """Take a document out of a tree, if it is in it; what stood under it takes its place."""
    store.hold_project(tx, project_id)
    nodes = catalogue.places(principal, tx, project_id)
    if document_id in nodes:
        store.place_nodes(tx, project_id, tree.changed(nodes, tree.remove(nodes, document_id)))
        store.remove_node(tx, project_id, document_id)
