"""Where a document stands in its project's tree: one change of a tree at a time."""

from uuid import UUID

from parlour.documents import catalogue, store, tree
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records.record import Record, RecordRef


def place_document(
    principal: Principal,
    tx: Transaction,
    project: Record,
    document_id: UUID,
    parent: RecordRef | None = None,
    position: int | None = None,
    team_id: UUID | None = None,
) -> None:
    """Place a document, new to the tree or not, under `parent` or at the top; without a position behind the last.

    NotFound for a parent that the principal does not see, InvalidRequest for a place that cannot be.
    """
    store.lock_project(tx, project.id)
    seen = catalogue.read_tree(principal, tx, project, team_id)
    above = None if parent is None else catalogue.get_document(principal, tx, parent, team_id).id
    place = tree.move_node if document_id in seen.nodes else tree.insert_node
    after = place(seen.nodes, document_id, above, position, seen.by_id.keys())
    store.move_nodes(tx, project.id, tree.find_moved_nodes(seen.nodes, after))
    if document_id not in seen.nodes:
        store.add_node(tx, project.id, after[document_id])


def remove_from_tree(principal: Principal, tx: Transaction, project_id: UUID, document_id: UUID) -> None:
    """Take a document out of a tree, if it is in it; what stood under it takes its place."""
    store.lock_project(tx, project_id)
    nodes = catalogue.read_tree_nodes(principal, tx, project_id)
    if document_id in nodes:
        store.move_nodes(tx, project_id, tree.find_moved_nodes(nodes, tree.remove_node(nodes, document_id)))
        store.remove_node(tx, project_id, document_id)
