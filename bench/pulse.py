"""What it costs to keep Pulses: the sweep by how many are fresh, and a day of edits against writing at every change.

    python -m bench.pulse [--records N ...] [--projects N] [--json FILE]

sweep  on the real database as the app role, under row-level security: a tenant with so many records that have Pulses,
       1 % of them stale and due (and 1,000 of them stale however many there are), all others fresh and due for their
       age some time tomorrow. `sweep` finds and sends all that are due, as many at once as are written
       in a minute; `idle` is one with nothing due. Seconds and statements; both follow what is due, not what is fresh.
day    bench/pulse_day.py: a working day of edits on so many projects, played through the product's own marks, sweep
       and writer with a model that answers by rule, a sweep every minute. `calls` against a call for every change of
       every record with a Pulse; what both cost at the price of a cheap model; seconds from a change to the text that
       tells of it.
"""

import argparse
import logging
import time
from collections.abc import Sequence
from contextlib import closing, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO
from typing import Any

import psycopg

from bench import pulse_day, report
from local import temporary_database
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, StatementCounts
from parlour.infra.queries import Query
from parlour.principal import Principal, system_principal
from parlour.pulse.due.sweep import PulseSweepDependencies, sweep

RECORDS = (10_000, 100_000)
PROJECTS = 6
_SAME = 1_000
"""Stale records of the second row of each size: how many are fresh beside them must not matter."""

_BATCH = 4_000

_TENANT = """
INSERT INTO tenants (tenant_id, slug, display_name, created_at, updated_at)
VALUES (current_tenant(), %(slug)s, 'Bench', %(now)s, %(now)s)
"""
_TYPE = """
INSERT INTO entity_types (tenant_id, id, key, display_name, rag, created_at, updated_at)
VALUES (current_tenant(), gen_random_uuid(), 'project', 'Project', '{"pulse": "auto", "children": "auto"}',
        %(now)s, %(now)s)
"""
_RECORDS = """
WITH made AS (
    INSERT INTO entities (
        tenant_id, id, type_id, key, name, created_at, updated_at, stale_since, stale_causes, stale_mark_count
    )
    SELECT current_tenant(), gen_random_uuid(), t.id, 'P-' || n, 'Project number ' || n, %(now)s, %(now)s,
           CASE WHEN n <= %(stale)s THEN %(now)s::timestamptz - n * interval '1 second' - interval '1 minute' END,
           CASE WHEN n <= %(stale)s THEN '{changed}'::text[] ELSE '{}' END, (n <= %(stale)s)::int
      FROM generate_series(%(first)s::int, %(last)s::int) AS n, entity_types t
    RETURNING tenant_id, id, stale_since
), known AS (
    INSERT INTO pulse_states (tenant_id, entity_id, decayed_reads, reads_counted_at, last_cost_usd)
    SELECT tenant_id, id, 3, %(now)s, 0.0008 FROM made
)
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT tenant_id, 'pulse', id,
       coalesce(stale_since + interval '30 seconds', %(now)s::timestamptz + (1 + 23 * random()) * interval '1 hour')
  FROM made
"""


type Owner = psycopg.Connection[Any]


@dataclass
class Told:
    """A queue that only counts."""

    sent: int = 0

    def send(self, _body: JsonObject, _seconds: float, /) -> None:
        self.sent += 1


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--records", type=int, nargs="+", default=RECORDS, metavar="N", help="records with Pulses")
    parser.add_argument("--projects", type=int, default=PROJECTS, metavar="N", help="projects of the scripted day")
    chosen = parser.parse_args()
    figures = measured(chosen.records, chosen.projects)
    report.write(chosen.json, figures)


def measured(records: Sequence[int], projects: int) -> dict[str, object]:
    """All figures, shown and as they are written."""
    logging.disable(logging.INFO)
    with (
        temporary_database.temporary_cluster() as cluster,
        closing(temporary_database.create_migrated_database(cluster)) as database,
    ):
        with closing(cluster.connect_as_superuser("scratch")) as owner:
            sizes = [(count, stale) for count in records for stale in dict.fromkeys((count // 100, min(_SAME, count)))]
            rows = [_swept(database, owner, *size) for size in sizes]
        report.show("A sweep, by how many Pulses there are and how many of them are due", rows)
        day = pulse_day.played(database, projects)
    logging.disable(logging.NOTSET)
    report.show(f"A day of edits on {projects} projects", [{"": name, "figure": day[name]} for name in day])
    return {"sweep": rows, "day": day}


def _swept(database: Database, owner: Owner, records: int, stale: int) -> dict[str, report.Cell]:
    """One tenant filled, swept until nothing is due, and swept once more."""
    now = datetime.now(UTC)
    tenant = system_principal(uuid7(now))
    _fill(database, tenant, records, stale, now)
    owner.execute("VACUUM ANALYZE")
    queue = Told()
    sweeper = PulseSweepDependencies(database, queue, Decimal(1_000), Decimal(1_000), lambda: now)
    first, first_statements = _timed(sweeper, owner, until=lambda: queue.sent >= stale)
    idle, idle_statements = _timed(sweeper, owner, until=lambda: True)
    _forget(database, tenant)
    return {
        "records": records,
        "due": stale,
        "sent": queue.sent,
        "sweep s": round(first, 3),
        "ms per due": round(first / max(stale, 1) * 1000, 3),
        "statements": first_statements,
        "idle ms": round(idle * 1000, 2),
        "idle statements": idle_statements,
    }


def _fill(database: Database, tenant: Principal, records: int, stale: int, now: datetime) -> None:
    with database.transaction(tenant) as tx:
        tx.run(Query("bench.tenant", "-", _TENANT), slug=f"bench-{tenant.tenant_id.hex[-12:]}", now=now)
        tx.run(Query("bench.type", "-", _TYPE), now=now)
    for first in range(1, records + 1, _BATCH):
        last = min(first + _BATCH - 1, records)
        with database.transaction(tenant) as tx:
            tx.run(Query("bench.records", "-", _RECORDS), first=first, last=last, stale=stale, now=now)


def _timed(sweeper: PulseSweepDependencies, owner: Owner, until: "pulse_day.Until") -> tuple[float, int]:
    """Sweeps until that holds, each after the writers are through: seconds and statements of all of them."""
    sweeper.database.statements = counted = StatementCounts()
    seconds, tries = 0.0, 0
    while tries == 0 or not until():
        begun = time.perf_counter()
        with redirect_stdout(StringIO()):  # metrics of a deployment, which this is none of
            sweep(sweeper, lambda: 600.0)
        seconds += time.perf_counter() - begun
        owner.execute("UPDATE pulse_states SET expected_usd = NULL WHERE expected_usd IS NOT NULL")
        tries += 1
        if tries > 1_000:
            raise RuntimeError("the sweep leaves something that is due")
    return seconds, counted.count


def _forget(database: Database, tenant: Principal) -> None:
    """Nothing of this tenant is due any more when the next is measured."""
    with database.transaction(tenant) as tx:
        tx.run(Query("bench.forget", "-", "DELETE FROM work_due WHERE tenant_id = current_tenant()"))


if __name__ == "__main__":
    main()
