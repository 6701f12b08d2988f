"""A project's documents in their order: which stands under which, and as which of its siblings. Pure.

The tree holds places and nothing else; titles and lengths are the documents' own. Positions count from 0 without
gaps. A reader who may not see a document sees what stands under it in its place, numbered as if it were not there.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from parlour.infra.errors import InvalidRequest

MAX_DEPTH = 12
"""Levels of a tree; people find nothing below five."""

_TOO_DEEP = f"parent: a tree has at most {MAX_DEPTH} levels; choose one further up"
_LONGEST_DESCRIPTION = 160
_MORE = "... and {} more; list_documents shows them"


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A document's place. `parent_id` is None at the top; `position` counts from 0 among siblings."""

    document_id: UUID
    parent_id: UUID | None
    position: int


@dataclass(frozen=True, slots=True)
class VisibleNode:
    """A place as some reader sees it: `depth` and `position` count from 0, `children` what stands right under it."""

    document_id: UUID
    parent_id: UUID | None
    depth: int
    position: int
    child_count: int


@dataclass(frozen=True, slots=True)
class OutlineLine:
    """What the outline says of a document."""

    handle: str
    title: str
    description: str
    length: int
    depth: int
    is_context: bool = False


type Nodes = Mapping[UUID, TreeNode]


def insert_node(
    nodes: Nodes,
    document_id: UUID,
    parent_id: UUID | None,
    position: int | None = None,
    visible_ids: Collection[UUID] | None = None,
) -> dict[UUID, TreeNode]:
    """Return the tree with one document more, at `position` under `parent_id` (None: at the top); None is the last.

    `visible_ids` are the documents that the caller can see and counts; None is all. InvalidRequest when the parent is
    not in the tree or the tree would become too deep.
    """
    if parent_id is not None and parent_id not in nodes:
        raise InvalidRequest("parent: that document is not in this project's tree; list its documents first")
    if len(_ancestors(nodes, parent_id)) >= MAX_DEPTH:
        raise InvalidRequest(_TOO_DEEP)
    ids = [node.document_id for node in _children(nodes)[parent_id]]
    counted = _position(nodes, nodes if visible_ids is None else visible_ids, parent_id, position)
    at = len(ids) if counted is None else counted
    placed = {**nodes, document_id: TreeNode(document_id, parent_id, at)}
    return _renumber(placed, parent_id, [*ids[:at], document_id, *ids[at:]])


def remove_node(nodes: Nodes, document_id: UUID) -> dict[UUID, TreeNode]:
    """Return the tree without that document; its children take its place, in order."""
    gone = nodes[document_id]
    children = _children(nodes)
    order: list[UUID] = []
    for sibling in children[gone.parent_id]:
        lifted = children[document_id] if sibling.document_id == document_id else [sibling]
        order += [node.document_id for node in lifted]
    rest = {one: node for one, node in nodes.items() if one != document_id}
    return _renumber(rest, gone.parent_id, order)


def move_node(
    nodes: Nodes,
    document_id: UUID,
    parent_id: UUID | None,
    position: int | None = None,
    visible_ids: Collection[UUID] | None = None,
) -> dict[UUID, TreeNode]:
    """Return the tree with a document and all its children moved. `position` does not count the document itself.

    InvalidRequest when it would be under itself, and as `insert_node`.
    """
    if document_id in _ancestors(nodes, parent_id):
        raise InvalidRequest("parent: a document cannot be moved under itself or one of its descendants")
    if len(_ancestors(nodes, parent_id)) + _subtree_height(nodes, document_id) > MAX_DEPTH:
        raise InvalidRequest(_TOO_DEEP)
    leaving = nodes[document_id]
    siblings = [node.document_id for node in _children(nodes)[leaving.parent_id] if node.document_id != document_id]
    rest = _renumber({one: node for one, node in nodes.items() if one != document_id}, leaving.parent_id, siblings)
    return insert_node(rest, document_id, parent_id, position, visible_ids)


def find_moved_nodes(before: Nodes, after: Nodes) -> list[TreeNode]:
    """Return the nodes of `after` whose place differs from before; not those that are new."""
    return [node for one, node in after.items() if one in before and before[one] != node]


def visible_nodes(nodes: Nodes, visible_ids: Collection[UUID]) -> list[VisibleNode]:
    """Return the tree as a reader of the visible documents sees it, every parent before its children."""
    children = _children(nodes)

    def shown(parent_id: UUID | None) -> Iterator[UUID]:
        for node in children[parent_id]:
            if node.document_id in visible_ids:
                yield node.document_id
            else:
                yield from shown(node.document_id)

    def walk(parent_id: UUID | None, depth: int) -> Iterator[VisibleNode]:
        for position, document_id in enumerate(shown(parent_id)):
            below = sum(1 for _ in shown(document_id))
            yield VisibleNode(document_id, parent_id, depth, position, below)
            yield from walk(document_id, depth + 1)

    return list(walk(None, 0))


def render_outline(lines: Sequence[OutlineLine], max_tokens: int, count_tokens: Callable[[str], int]) -> str:
    """Render the tree for a briefing in at most `max_tokens`; "" when not even a line fits.

    What does not fit is left out in this order: descriptions, the deepest levels, the last lines (with their number).
    """
    if not lines:
        return ""
    deepest = max(line.depth for line in lines)
    attempts = [(deepest, True), *((depth, False) for depth in range(deepest, -1, -1))]
    for depth, described in attempts:
        text = _render_lines([line for line in lines if line.depth <= depth], len(lines), described=described)
        if count_tokens(text) <= max_tokens:
            return text
    return _first_lines([line for line in lines if line.depth == 0], len(lines), max_tokens, count_tokens)


def _first_lines(lines: Sequence[OutlineLine], total: int, tokens: int, measure: Callable[[str], int]) -> str:
    """As many of the lines as fit, found by halving: a tree may have thousands."""
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        fits = measure(_render_lines(lines[:middle], total, described=False)) <= tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    return _render_lines(lines[:low], total, described=False) if low else ""


def _render_lines(lines: Sequence[OutlineLine], total: int, *, described: bool) -> str:
    texts = []
    for line in lines:
        about = f": {line.description[:_LONGEST_DESCRIPTION]}" if described and line.description else ""
        context = ", the project's context in the user's words" if line.is_context else ""
        texts.append(f"{'  ' * line.depth}- {line.title} ({line.handle}, {line.length:,} characters{context}){about}")
    return "\n".join([*texts, _MORE.format(total - len(lines))] if total > len(lines) else texts)


def _position(nodes: Nodes, visible: Collection[UUID], parent_id: UUID | None, position: int | None) -> int | None:
    """Where a reader's `position` under `parent_id` is, counted with the siblings that they do not see."""
    siblings = [placed.document_id for placed in visible_nodes(nodes, visible) if placed.parent_id == parent_id]
    if position is None or position >= len(siblings):
        return None
    node = nodes[siblings[max(position, 0)]]
    while node.parent_id != parent_id and node.parent_id is not None:
        node = nodes[node.parent_id]
    return node.position


def _children(nodes: Nodes) -> dict[UUID | None, list[TreeNode]]:
    """Nodes by their parents, in order."""
    found: dict[UUID | None, list[TreeNode]] = defaultdict(list)
    for node in sorted(nodes.values(), key=lambda node: node.position):
        found[node.parent_id].append(node)
    return found


def _ancestors(nodes: Nodes, document_id: UUID | None) -> list[UUID]:
    """Return a document and all its ancestors."""
    found: list[UUID] = []
    while document_id is not None:
        found.append(document_id)
        document_id = nodes[document_id].parent_id if document_id in nodes else None
    return found


def _subtree_height(nodes: Nodes, document_id: UUID) -> int:
    """Levels that a document takes with what stands under it."""
    return max(len(_ancestors(nodes, one)) for one in nodes if document_id in _ancestors(nodes, one)) - (
        len(_ancestors(nodes, document_id)) - 1
    )


def _renumber(nodes: Nodes, parent_id: UUID | None, order: Sequence[UUID]) -> dict[UUID, TreeNode]:
    """Return the nodes with these as the parent's children, in this order."""
    places = {one: replace(nodes[one], parent_id=parent_id, position=at) for at, one in enumerate(order)}
    return {**nodes, **places}
