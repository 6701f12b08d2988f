"""A project's tree of documents: places without gaps, whatever is put in, moved or taken out."""

from collections.abc import Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.documents.tree import (
    MAX_DEPTH,
    OutlineLine,
    TreeNode,
    find_moved_nodes,
    insert_node,
    move_node,
    remove_node,
    render_outline,
    visible_nodes,
)
from parlour.infra.errors import InvalidRequest

type Tree = dict[UUID, TreeNode]


def doc(number: int) -> UUID:
    return UUID(int=number)


def tree(*rows: tuple[int, int | None]) -> Tree:
    """Documents under their parents, each behind the last."""
    nodes: Tree = {}
    for number, parent in rows:
        nodes = insert_node(nodes, doc(number), None if parent is None else doc(parent))
    return nodes


def shape(nodes: Tree, visible: Sequence[int] | None = None) -> list[tuple[int, int]]:
    """(document, depth) in the order in which a reader sees them."""
    shown = set(nodes) if visible is None else {doc(number) for number in visible}
    return [(placed.document_id.int, placed.depth) for placed in visible_nodes(nodes, shown)]


TWO_LEVELS = tree((1, None), (2, None), (3, None), (21, 2), (22, 2))


@pytest.mark.parametrize(
    ("position", "order"), [(0, [9, 1, 2, 3]), (1, [1, 9, 2, 3]), (None, [1, 2, 3, 9]), (99, [1, 2, 3, 9])]
)
def test_a_document_is_put_where_it_was_asked_for(position: int | None, order: list[int]) -> None:
    placed = insert_node(TWO_LEVELS, doc(9), None, position)
    assert [number for number, depth in shape(placed) if depth == 0] == order


def test_what_stands_under_a_document_takes_its_place_when_it_is_taken_out() -> None:
    assert shape(remove_node(TWO_LEVELS, doc(2))) == [(1, 0), (21, 0), (22, 0), (3, 0)]


def test_a_document_moves_with_all_that_stands_under_it() -> None:
    assert shape(move_node(TWO_LEVELS, doc(2), doc(3))) == [(1, 0), (3, 0), (2, 1), (21, 2), (22, 2)]


def test_a_place_among_the_same_siblings_is_counted_without_the_document_itself() -> None:
    assert shape(move_node(TWO_LEVELS, doc(1), None, 2)) == [(2, 0), (21, 1), (22, 1), (3, 0), (1, 0)]
    assert shape(move_node(TWO_LEVELS, doc(3), None, 0)) == [(3, 0), (1, 0), (2, 0), (21, 1), (22, 1)]


@pytest.mark.parametrize("parent", [2, 21])
def test_nothing_stands_under_itself(parent: int) -> None:
    with pytest.raises(InvalidRequest, match="under itself"):
        move_node(TWO_LEVELS, doc(2), doc(parent))


def test_a_parent_of_another_tree_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="not in this project's tree"):
        insert_node(TWO_LEVELS, doc(9), doc(77))


def test_a_tree_has_so_many_levels_and_no_more() -> None:
    deep = tree(*((number, number - 1 or None) for number in range(1, MAX_DEPTH + 1)), (100, None), (101, 100))
    with pytest.raises(InvalidRequest, match="levels"):
        insert_node(deep, doc(200), doc(MAX_DEPTH))
    with pytest.raises(InvalidRequest, match="levels"):
        move_node(deep, doc(100), doc(MAX_DEPTH - 1))
    assert shape(move_node(deep, doc(100), doc(MAX_DEPTH - 2)))[-1] == (101, MAX_DEPTH - 1)


def test_only_what_stands_elsewhere_is_written() -> None:
    after = insert_node(TWO_LEVELS, doc(9), None, 2)
    assert find_moved_nodes(TWO_LEVELS, after) == [TreeNode(doc(3), None, 3)]


def test_what_stands_under_a_hidden_document_is_seen_in_its_place_and_nothing_tells_of_it() -> None:
    placed = visible_nodes(TWO_LEVELS, {doc(1), doc(3), doc(21), doc(22)})
    assert [(one.document_id.int, one.parent_id, one.position) for one in placed] == [
        (1, None, 0),
        (21, None, 1),
        (22, None, 2),
        (3, None, 3),
    ]


def test_a_place_is_counted_as_its_reader_counts() -> None:
    visible = [doc(1), doc(3), doc(21), doc(22)]
    placed = insert_node(TWO_LEVELS, doc(9), None, 3, visible)
    assert shape(placed, [1, 3, 21, 22, 9]) == [(1, 0), (21, 0), (22, 0), (9, 0), (3, 0)]
    assert shape(placed) == [(1, 0), (2, 0), (21, 1), (22, 1), (9, 0), (3, 0)]


@given(
    st.lists(
        st.tuples(st.sampled_from(["insert", "move", "remove"]), st.integers(0, 30), st.integers(0, 30)), max_size=60
    )
)
def test_positions_have_no_gaps_and_nothing_gets_lost_or_goes_round_in_circles(
    steps: list[tuple[str, int, int]],
) -> None:
    nodes: Tree = {}
    for number, (act, one, other) in enumerate(steps):
        ids = sorted(nodes)
        parent = ids[other % len(ids)] if ids and other % 4 else None
        before = set(nodes)
        try:
            if act == "insert" or not ids:
                nodes = insert_node(nodes, doc(number + 1), parent, one % 5)
                assert set(nodes) == before | {doc(number + 1)}
            elif act == "move":
                nodes = move_node(nodes, ids[one % len(ids)], parent, other % 5)
                assert set(nodes) == before
            else:
                nodes = remove_node(nodes, ids[one % len(ids)])
                assert set(nodes) == before - {ids[one % len(ids)]}
        except InvalidRequest:
            assert set(nodes) == before
        assert {placed.document_id for placed in visible_nodes(nodes, set(nodes))} == set(nodes)
        for above in {node.parent_id for node in nodes.values()}:
            positions = sorted(node.position for node in nodes.values() if node.parent_id == above)
            assert positions == list(range(len(positions)))


LINES = [
    OutlineLine("document/context", "What it is about", "The aim in the client's words", 412, 0, is_context=True),
    OutlineLine("document/method", "Method", "How the slab is poured", 5320, 0),
    OutlineLine("document/mix", "Concrete mix", "C35/45", 900, 1),
]


def test_the_outline_names_each_document_with_its_handle_and_length() -> None:
    assert render_outline(LINES, 1000, len) == (
        "- What it is about (document/context, 412 characters, the project's context in the user's words): "
        "The aim in the client's words\n"
        "- Method (document/method, 5,320 characters): How the slab is poured\n"
        "  - Concrete mix (document/mix, 900 characters): C35/45"
    )


@pytest.mark.parametrize(
    ("tokens", "there", "gone"),
    [
        (235, "  - Concrete mix", "C35/45"),
        (185, "... and 1 more; list_documents shows them", "Concrete"),
        (150, "... and 2 more", "Method"),
    ],
)
def test_an_outline_over_its_budget_loses_descriptions_then_levels_then_its_end(
    tokens: int, there: str, gone: str
) -> None:
    text = render_outline(LINES, tokens, len)
    assert len(text) <= tokens
    assert there in text
    assert gone not in text


def test_a_budget_that_no_line_fits_gives_no_outline() -> None:
    assert render_outline(LINES, 20, len) == ""
    assert render_outline([], 1000, len) == ""
