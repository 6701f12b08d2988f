"""What a record with many links costs to load: for the briefing of a conversation about it, and a page of the tool.

    python -m bench.linked_records [--json FILE]

On the real database as the app role, under row-level security, in a tenant with 2,000 records besides. `first read`
loads the record with the first three of each kind, as the first turn of a worker does; `read again` is the same while
nothing was written (the cache holds, and one look at the tenant's mark says so); `after a write` while something is
written in the tenant before each read; `page` is the tool's full form, with descriptions. The baseline is one empty
transaction on the same connection.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from bench import report
from local import temporary_database
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.principal import INTERNAL, Principal
from parlour.records import linked_records
from parlour.records.linked_records import LinkedRecordsCache

LINKS = (0, 10, 100, 1_000)
ROUNDS = 200
WARM_UP = 20

_TENANT = """
INSERT INTO tenants (tenant_id, slug, display_name, created_at, updated_at)
VALUES (current_tenant(), 'bench', 'Bench', %(now)s, %(now)s)
"""
_TYPES = """
INSERT INTO entity_types (tenant_id, id, key, display_name, rag, created_at, updated_at)
SELECT current_tenant(), gen_random_uuid(), key, initcap(key), '{"status_properties": ["state"]}', %(now)s, %(now)s
  FROM unnest('{project,goal,plan,milestone,task,document,risk,output}'::text[]) AS key
"""
_RECORDS = """
INSERT INTO entities (tenant_id, id, type_id, key, name, properties, classification, created_at, updated_at)
SELECT current_tenant(), gen_random_uuid(), t.id, 'N-' || n, 'Record number ' || n || ' of the works on the river bank',
       jsonb_build_object('state', (ARRAY['open', 'active', 'done', 'waiting'])[1 + n %% 4], 'due', '2026-03-06',
                          'description', repeat('What has to be done before the pour, and by whom. ', 6)),
       n %% 3, %(now)s::timestamptz + n * interval '1 second', %(now)s
  FROM generate_series(1, 2000) AS n
  JOIN (SELECT id, row_number() OVER (ORDER BY key) - 1 AS place FROM entity_types) t ON t.place = n %% 8
"""
_EDGES = """
INSERT INTO edges (tenant_id, id, source_id, target_id, relation, created_at)
SELECT current_tenant(), gen_random_uuid(), CASE WHEN n %% 2 = 0 THEN f.id ELSE e.id END,
       CASE WHEN n %% 2 = 0 THEN e.id ELSE f.id END, 'relates_to', %(now)s
  FROM entities f, LATERAL (SELECT id, row_number() OVER (ORDER BY key) AS n FROM entities
                             WHERE key NOT LIKE 'F-%%') e
 WHERE f.key = %(key)s AND n <= %(links)s
"""
_FOCUS = """
INSERT INTO entities (tenant_id, id, type_id, key, name, properties, created_at, updated_at)
SELECT current_tenant(), %(id)s, id, %(key)s, 'The record that is talked about', '{"state": "open"}', %(now)s, %(now)s
  FROM entity_types WHERE key = 'project'
"""
_WRITE = "UPDATE entities SET updated_at = updated_at + interval '1 second' WHERE key = 'N-1'"


@dataclass(frozen=True)
class Yard:
    """A tenant's records, and who reads them."""

    database: Database
    principal: Principal
    now: datetime

    def run(self, statement: str, **values: object) -> None:
        with self.database.transaction(self.principal) as tx:
            tx.run(Query("bench.statement", "-", statement), **values)

    def focus(self, links: int) -> UUID:
        """A record with so many links."""
        record_id, key = uuid7(self.now), f"F-{links}"
        self.run(_FOCUS, id=record_id, key=key, now=self.now)
        self.run(_EDGES, key=key, links=links, now=self.now)
        return record_id

    def load(self, record_id: UUID, cache: LinkedRecordsCache | None) -> None:
        with self.database.transaction(self.principal) as tx:
            assert linked_records.read_focus_record(self.principal, tx, record_id, cache=cache, now=self.now)

    def page(self, record_id: UUID) -> None:
        with self.database.transaction(self.principal) as tx:
            assert linked_records.read_linked_page(self.principal, tx, record_id)


def main() -> None:
    file = report.json_file(__doc__ or "")
    with temporary_database.temporary_database() as database:
        yard = _yard(database)
        empty = _measured(lambda: _begin_and_commit(yard))
        rows = [_row("empty transaction (baseline)", 0, empty)]
        for links in LINKS:
            rows += _rows(yard, yard.focus(links), links)
    report.show(f"A record and what it is linked to ({ROUNDS} rounds each)", rows)
    report.write(file, {"rounds": ROUNDS, "linked": rows})


def _yard(database: Database) -> Yard:
    now = datetime.now(UTC)
    yard = Yard(database, Principal(uuid7(now), "user", uuid7(now), clearance=INTERNAL), now)
    for statement in (_TENANT, _TYPES, _RECORDS):
        yard.run(statement, now=now)
    return yard


def _rows(yard: Yard, record_id: UUID, links: int) -> list[dict[str, report.Cell]]:
    cache = LinkedRecordsCache()
    return [
        _row("first read", links, _measured(lambda: yard.load(record_id, None))),
        _row("read again", links, _measured(lambda: yard.load(record_id, cache))),
        _row("after a write", links, _measured(lambda: yard.load(record_id, cache), lambda: yard.run(_WRITE))),
        _row("page", links, _measured(lambda: yard.page(record_id))),
    ]


def _row(what: str, links: int, seconds: list[float]) -> dict[str, report.Cell]:
    p50, p95 = (report.percentile(seconds, percent) * 1000 for percent in (50, 95))
    return {"what": what, "links": links, "p50 ms": p50, "p95 ms": p95}


def _measured(work: Callable[[], None], prepare: Callable[[], None] | None = None) -> list[float]:
    seconds = []
    for number in range(WARM_UP + ROUNDS):
        if prepare:
            prepare()
        begun = time.perf_counter()
        work()
        if number >= WARM_UP:
            seconds.append(time.perf_counter() - begun)
    return seconds


def _begin_and_commit(yard: Yard) -> None:
    with yard.database.transaction(yard.principal):
        pass


if __name__ == "__main__":
    main()
