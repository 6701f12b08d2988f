"""Named queries are read from their file with a name and a description each."""

from pathlib import Path

import pytest

from parlour.infra.queries import Queries, parse
from parlour.knowledge.search import store as search
from parlour.memory.recalling import store as recalling
from parlour.tenancy import store as tenancy
from parlour.turns.prompts import store as prompts

_REMEMBERED = 4_096
"""Characters of a statement up to which psycopg does not read it anew each time."""

TEXT = """
-- name: one
-- The first.
-- In two lines.
SELECT 1 WHERE %(id)s = %(other)s;

-- name: two
-- The second.
SELECT '100%%';
"""


def test_queries_have_room_description_statement_and_parameters() -> None:
    found = parse(TEXT, "turns")
    assert list(found) == ["one", "two"]
    assert found["one"].name == "turns.one"
    assert found["one"].description == "The first. In two lines."
    assert found["one"].sql == "SELECT 1 WHERE %(id)s = %(other)s"
    assert found["one"].parameters == {"id", "other"}
    assert found["two"].parameters == frozenset()


def test_a_query_may_be_planned_anew_each_time() -> None:
    found = parse(
        "-- name: one\n-- plan: anew\n-- The first.\nSELECT 1;\n-- name: two\n-- The second.\nSELECT 2;", "turns"
    )
    assert (found["one"].anew, found["two"].anew) == (True, False)
    assert (found["one"].description, found["one"].sql) == ("The first.", "SELECT 1")


def test_a_query_may_be_planned_once_for_all_parameters() -> None:
    found = parse("-- name: one\n-- plan: once\n-- The first.\nSELECT 1;", "turns")
    assert (found["one"].once, found["one"].anew) == (True, False)
    assert (found["one"].description, found["one"].sql) == ("The first.", "SELECT 1")


def test_what_is_sent_has_neither_comments_nor_indentation() -> None:
    found = parse("-- name: one\n-- The first.\nWITH a AS (\n    -- Why it is so.\n    SELECT 1\n)\nSELECT;", "turns")
    assert found["one"].sql == "WITH a AS (\nSELECT 1\n)\nSELECT"


def test_no_text_in_a_statement_goes_over_lines() -> None:
    """Its indentation would be part of it."""
    shipped = [one for file in Path("shared/parlour").rglob("queries.sql") for one in Queries(file).values()]
    lines = [line for one in shipped for line in one.sql.splitlines() if "--" not in line]
    assert len(lines) > 1_000
    assert not [line for line in lines if line.count("'") % 2]


@pytest.mark.parametrize(
    "text",
    ["-- name: bare\nSELECT 1;", "-- name: empty\n-- Says something.\n", f"{TEXT}\n-- name: one\n-- Again.\nSELECT 1;"],
)
def test_a_query_without_description_statement_or_own_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"turns/queries\.sql"):
        parse(text, "turns")


def test_the_file_is_read_when_first_asked_for(tmp_path: Path) -> None:
    queries = Queries(tmp_path / "room" / "queries.sql")
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "queries.sql").write_text(TEXT, "utf-8")
    assert queries["two"].name == "room.two"


def test_what_every_turn_asks_is_short_enough_for_psycopg_to_remember_how_it_is_written() -> None:
    asked = [prompts.SQL["earlier"], prompts.SQL["keep_prompt"], recalling.SQL["remembered"], tenancy.SQL["persona"]]
    asked += [search.SQL["recall"]]
    assert {one.name: len(one.sql) for one in asked if len(one.sql) > _REMEMBERED} == {}
