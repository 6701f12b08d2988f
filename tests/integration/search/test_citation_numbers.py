"""A row has one number in a session, whoever asks, however often."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID

import pytest

from parlour.documents.pack_import import DocumentDraft
from parlour.infra.errors import LeaseLost, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.search.citation_numbers import NumberedSource, assign_numbers, list_numbered_sources
from parlour.search.hybrid_search import Question, search
from parlour.search.results import SearchResult
from tests.integration.knowledge_tenant import LEASE_TOKEN, KnowledgeTenant


@pytest.fixture
def rows(library: KnowledgeTenant) -> list[SearchResult]:
    library.import_documents(*(DocumentDraft(f"n{at}", f"Note {at}", f"# Part\n\nCrane {at}.") for at in range(5)))
    with library.database.transaction(library.principal) as tx:
        found = search(library.principal, tx, Question(text="crane", vector=None), limit=10)
    return sorted(found, key=lambda row: row.title)


def number(library: KnowledgeTenant, rows: list[SearchResult], fence: int | None = None) -> list[int]:
    with library.database.transaction(library.principal) as tx:
        numbers = assign_numbers(tx, library.session_id, rows, fence)
    return [numbers[row.row_id] for row in rows]


def test_numbers_begin_at_one_and_follow_the_order_of_the_rows(
    library: KnowledgeTenant, rows: list[SearchResult]
) -> None:
    assert number(library, [rows[2], rows[0]]) == [1, 2]


def test_a_row_keeps_its_number_and_new_rows_get_the_next(library: KnowledgeTenant, rows: list[SearchResult]) -> None:
    number(library, [rows[2], rows[0]])
    assert number(library, [rows[1], rows[0], rows[2], rows[3]]) == [3, 2, 1, 4]
    assert number(library, rows[:4]) == [2, 3, 1, 4]


def test_every_number_given_out_is_known_with_its_title_and_place(
    library: KnowledgeTenant, rows: list[SearchResult]
) -> None:
    number(library, [rows[4], rows[3]])
    with library.database.transaction(library.principal) as tx:
        assert list_numbered_sources(library.principal, tx, library.session_id, range(9)) == [
            NumberedSource(1, rows[4].row_id, "Note 4", "Part", rows[4].content),
            NumberedSource(2, rows[3].row_id, "Note 3", "Part", rows[3].content),
        ]


def test_a_number_is_not_given_out_again_when_its_row_is_gone(
    library: KnowledgeTenant, rows: list[SearchResult]
) -> None:
    number(library, [rows[0], rows[1]])
    library.import_documents(DocumentDraft("n0", "Note 0", "Something else."))
    assert number(library, [rows[1], rows[2]]) == [2, 3]


def test_no_rows_need_no_session(library: KnowledgeTenant) -> None:
    with library.database.transaction(library.principal) as tx:
        assert assign_numbers(tx, uuid7(library.now), []) == {}


def test_numbers_are_per_session_and_tenant(
    library: KnowledgeTenant, other_library: KnowledgeTenant, rows: list[SearchResult]
) -> None:
    number(library, rows[:1])
    stranger = replace(library, principal=other_library.principal)
    with pytest.raises(NotFound):
        number(stranger, rows[:1])
    with library.database.transaction(other_library.principal) as tx:
        assert list_numbered_sources(library.principal, tx, library.session_id, range(9)) == []


def test_whoever_lost_the_lease_numbers_nothing(library: KnowledgeTenant, rows: list[SearchResult]) -> None:
    assert number(library, rows[:1], fence=LEASE_TOKEN) == [1]
    with pytest.raises(LeaseLost):
        number(library, rows[1:2], fence=LEASE_TOKEN - 1)
    with library.database.transaction(library.principal) as tx:
        assert len(list_numbered_sources(library.principal, tx, library.session_id, range(9))) == 1


def test_callers_at_the_same_time_agree(
    library: KnowledgeTenant, rows: list[SearchResult], open_database: Callable[[], Database]
) -> None:
    libraries = [replace(library, database=open_database()) for _ in range(4)]
    orders = [rows, rows[::-1], rows[2:] + rows[:2], rows[1:]]
    with ThreadPoolExecutor(len(libraries)) as pool:
        answers = list(pool.map(number, libraries, orders))
    given: dict[UUID, set[int]] = {row.row_id: set() for row in rows}
    for order, numbers in zip(orders, answers, strict=True):
        for row, said in zip(order, numbers, strict=True):
            given[row.row_id].add(said)
    assert all(len(numbers) == 1 for numbers in given.values())
    assert {said for numbers in given.values() for said in numbers} == {1, 2, 3, 4, 5}
