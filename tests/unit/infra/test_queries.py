"""Named queries are read from their file with a name and a description each."""

import re
from pathlib import Path

import pytest

from parlour.infra.queries import Queries, parse

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


def test_a_query_may_be_kept_from_being_prepared() -> None:
    found = parse(
        "-- name: one\n-- plan: custom\n-- The first.\nSELECT 1;\n-- name: two\n-- The second.\nSELECT 2;", "turns"
    )
    assert (found["one"].is_unprepared, found["two"].is_unprepared) == (True, False)
    assert (found["one"].description, found["one"].sql) == ("The first.", "SELECT 1")


def test_comments_inside_a_statement_are_part_of_it() -> None:
    found = parse("-- name: one\n-- The first.\nWITH a AS (\n    -- Why.\n    SELECT 1\n)\nSELECT;", "turns")
    assert found["one"].description == "The first."
    assert found["one"].sql == "WITH a AS (\n    -- Why.\n    SELECT 1\n)\nSELECT"


def test_every_percent_sign_in_a_shipped_statement_is_a_parameter_or_doubled() -> None:
    shipped = [one for file in Path("shared/parlour").rglob("queries.sql") for one in Queries(file).values()]
    assert len(shipped) > 300
    assert not [one.name for one in shipped if "%" in re.sub(r"%%|%\(\w+\)s", "", one.sql)]


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
