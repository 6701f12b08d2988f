"""An index over the vectors of each model that the deployment names."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from uuid import UUID

import psycopg
import pytest

from local.database import APP_ROLE, OWNER_ROLE, Cluster, open_connection
from parlour.infra import vector_indexes
from parlour.infra.ids import uuid7
from parlour.infra.json_values import canonical_digest

SPACES = {"mini@3": 3, "it's-large@4": 4}


@pytest.fixture
def indexed(cluster: Cluster, database_name: str) -> str:
    with open_connection(cluster.connection_parameters(database_name, OWNER_ROLE)) as owner:
        assert vector_indexes.build_vector_indexes(owner, SPACES) == list(SPACES)
    return database_name


def definitions(cluster: Cluster, name: str) -> dict[str, str]:
    with open_connection(cluster.connection_parameters(name, OWNER_ROLE)) as owner:
        return dict(
            owner.execute("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'embeddings'").fetchall()
        )


def test_each_space_has_one_by_the_expression_that_search_asks_with(cluster: Cluster, indexed: str) -> None:
    found = definitions(cluster, indexed)
    mini = found[f"embeddings_hnsw_{canonical_digest('mini@3')[:16]}"]
    assert "USING hnsw (((vector)::halfvec(3)) halfvec_cosine_ops)" in mini
    assert mini.endswith("WHERE (space = 'mini@3'::text)")
    assert found[vector_indexes.index_name("it's-large@4")].endswith("WHERE (space = 'it''s-large@4'::text)")


def test_migrating_again_makes_none_again_and_mends_one_that_broke_off(cluster: Cluster, indexed: str) -> None:
    with cluster.connect_as_superuser(indexed) as superuser:
        superuser.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass",
            (vector_indexes.index_name("mini@3"),),
        )
    with open_connection(cluster.connection_parameters(indexed, OWNER_ROLE)) as owner:
        assert vector_indexes.build_vector_indexes(owner, SPACES) == ["mini@3"]
        assert vector_indexes.build_vector_indexes(owner, SPACES) == []
        assert not owner.autocommit


def test_vectors_too_long_for_an_index_are_left_without_one(cluster: Cluster, database_name: str) -> None:
    with open_connection(cluster.connection_parameters(database_name, OWNER_ROLE)) as owner:
        assert vector_indexes.build_vector_indexes(owner, {"huge@4096": 4096, "long@3072": 3072}) == ["long@3072"]


def test_a_vector_of_another_length_than_its_spaces_is_refused(cluster: Cluster, indexed: str, now: datetime) -> None:
    tenant, row = uuid7(now), uuid7(now)
    with open_connection(cluster.connection_parameters(indexed, APP_ROLE)) as app:
        app.execute("SELECT set_config('app.tenant_id', %s, false)", (str(tenant),))
        app.execute(
            "INSERT INTO tenants (tenant_id, slug, display_name, created_at, updated_at)"
            " VALUES (%s, 'a', 'A', now(), now())",
            (tenant,),
        )
        app.execute(
            "INSERT INTO context_rows (tenant_id, id, kind, title, content, content_hash, created_at)"
            " VALUES (%s, %s, 'delta', 't', 'c', 'h', now())",
            (tenant, row),
        )
        insert = "INSERT INTO embeddings (tenant_id, row_id, space, vector) VALUES (%s, %s, 'mini@3', %s::vector)"
        with pytest.raises(psycopg.errors.DataException), app.transaction():
            app.execute(insert, (tenant, row, "[1,2]"))
        app.execute(insert, (tenant, row, "[1,2,3]"))


def test_search_finds_the_same_without_an_index_and_with_one(
    cluster: Cluster, database_name: str, now: datetime
) -> None:
    tenant, rows = uuid7(now), [uuid7(now) for _ in range(3)]
    with open_connection(cluster.connection_parameters(database_name, APP_ROLE)) as app:
        app.execute("SELECT set_config('app.tenant_id', %s, false)", (str(tenant),))
        app.execute(
            "INSERT INTO tenants (tenant_id, slug, display_name, created_at, updated_at)"
            " VALUES (%s, 'a', 'A', now(), now())",
            (tenant,),
        )
        for row, vector in zip(rows, ("[0,0,1]", "[1,0,0]", "[1,1,0]"), strict=True):
            app.execute(
                "INSERT INTO context_rows (tenant_id, id, kind, title, content, content_hash, created_at)"
                " VALUES (%s, %s, 'delta', 't', 'c', 'h', now())",
                (tenant, row),
            )
            app.execute(
                "INSERT INTO embeddings (tenant_id, row_id, space, vector) VALUES (%s, %s, 'mini@3', %s::vector)",
                (tenant, row, vector),
            )
    assert nearest(cluster, database_name, tenant) == [rows[1], rows[2]]
    with open_connection(cluster.connection_parameters(database_name, OWNER_ROLE)) as owner:
        assert vector_indexes.build_vector_indexes(owner, {"mini@3": 3}) == ["mini@3"]
    assert nearest(cluster, database_name, tenant) == [rows[1], rows[2]]


def nearest(cluster: Cluster, name: str, tenant: UUID) -> list[UUID]:
    """The two rows nearest to [1,0,0], looked for as in a large tenant."""
    with open_connection(cluster.connection_parameters(name, APP_ROLE)) as app:
        app.execute("SELECT set_config('app.tenant_id', %s, false)", (str(tenant),))
        found = "SELECT id FROM search_nearest('mini@3', '[1,0,0]', 0, NULL, true, 2, 0) ORDER BY distance"
        return [row for (row,) in app.execute(found).fetchall()]


def test_of_two_migrators_one_builds_and_the_other_waits(
    cluster: Cluster, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A migrator that waited inside a statement would deadlock with the other's CREATE INDEX CONCURRENTLY."""
    monkeypatch.setattr(vector_indexes, "_LOCK_POLL_SECONDS", 0.05)

    def build(_: int) -> list[str]:
        with open_connection(cluster.connection_parameters(database_name, OWNER_ROLE)) as owner:
            return vector_indexes.build_vector_indexes(owner, SPACES)

    with ThreadPoolExecutor(2) as pool:
        built = list(pool.map(build, range(2)))
    assert sorted(map(len, built)) == [0, len(SPACES)]
    found = definitions(cluster, database_name)
    assert {vector_indexes.index_name(space) for space in SPACES} <= found.keys()


def test_a_connection_lost_during_a_build_raises_its_own_error(
    cluster: Cluster, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_connection(cluster.connection_parameters(database_name, OWNER_ROLE)) as owner:

        def lose(*_: object) -> bool:
            owner.close()
            raise ZeroDivisionError

        monkeypatch.setattr(vector_indexes, "_create_index", lose)
        with pytest.raises(ZeroDivisionError):
            vector_indexes.build_vector_indexes(owner, SPACES)
