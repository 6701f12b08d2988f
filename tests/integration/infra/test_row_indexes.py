"""Indexes that are made while their table is written, by one migrator at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from local.database import OWNER, Cluster, connect
from parlour.infra import row_indexes, vector_indexes

type Build = Callable[[psycopg.Connection[Any]], list[str]]

_VALID = """
SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname = ANY(%s) AND i.indisvalid"""


def over_vectors(owner: psycopg.Connection[Any]) -> list[str]:
    return vector_indexes.build(owner, {"mini@3": 3})


@pytest.mark.parametrize(
    ("build", "names"),
    [
        (row_indexes.build, list(row_indexes._INDEXES)),
        (over_vectors, [vector_indexes.index_name("mini@3")]),
    ],
    ids=["rows", "vectors"],
)
def test_of_two_migrators_one_makes_them_and_the_other_waits(
    cluster: Cluster, database_name: str, monkeypatch: pytest.MonkeyPatch, build: Build, names: list[str]
) -> None:
    """One that waited in a statement would be waited for by the other's index: a deadlock."""
    monkeypatch.setattr(row_indexes, "_PAUSE", 0.05)
    with connect(cluster.parameters(database_name, OWNER)) as owner:
        for name in names:
            owner.execute(f"DROP INDEX IF EXISTS {name}")

    def migrate(_: int) -> list[str]:
        with connect(cluster.parameters(database_name, OWNER)) as owner:
            return build(owner)

    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(migrate, range(2)))
    assert sorted(map(len, made)) == [0, len(names)]
    with connect(cluster.parameters(database_name, OWNER)) as owner:
        assert owner.execute(_VALID, (names,)).fetchone() == (len(names),)


def test_a_connection_that_is_lost_meanwhile_is_told_by_its_own_error(
    cluster: Cluster, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    with connect(cluster.parameters(database_name, OWNER)) as owner:

        def lose(*_: object) -> bool:
            owner.close()
            raise ZeroDivisionError

        monkeypatch.setattr(row_indexes, "make", lose)
        with pytest.raises(ZeroDivisionError):
            row_indexes.build(owner)
