"""An embedder that counts, and an operator with a tenant to make."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

import pytest

from local.database import APP_ROLE, Cluster
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, connector
from parlour.infra.queries import Query
from parlour.packs.apply import ApplyResult, apply
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.tenancy import roles

type ApplyFunction = Callable[[Mapping[str, str]], ApplyResult]


class CountingEmbedder:
    """Vectors made from a text's hash; remembers every text it was given."""

    model = "hash"
    dimensions = 8

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        self.texts += texts
        return [[byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:8]] for text in texts]


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
def operator(now: datetime) -> Principal:
    return roles.operator_principal(uuid7(now))


@pytest.fixture
def apply_pack(
    database: Database,
    embedder: CountingEmbedder,
    operator: Principal,
    now: datetime,
) -> ApplyFunction:
    """Validate files and apply them as the operator of one tenant."""
    return lambda files: apply(operator, database, embedder, validate(files), now)


@pytest.fixture
def count(database: Database) -> Callable[[Principal, str], int]:
    """How many rows a tenant has in a table."""

    def rows(principal: Principal, table: str) -> int:
        with database.transaction(principal) as tx:
            return int(
                tx.value(Query("test.count", "-", f"SELECT count(*) FROM {table} WHERE tenant_id = current_tenant()"))
            )

    return rows


@pytest.fixture
def cluster_copy(cluster: Cluster, template: str) -> Iterator[Database]:
    """Another deployment's database."""
    cluster.create("test_elsewhere", template)
    database = Database(connector(cluster.connection_parameters("test_elsewhere", APP_ROLE, "app")))
    yield database
    database.close()
    cluster.drop("test_elsewhere")
