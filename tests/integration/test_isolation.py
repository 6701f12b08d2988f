"""No tenant reaches another's rows, even with the other's ids in hand: every named query of every room is tried.

A working day of one tenant is played through the rooms' public functions while each query is recorded with the
parameters that made it return or touch rows. Then every query is run again with those very parameters as another
tenant and as nobody. A query that no part of the day reaches fails the test: add it to the day.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from local.database import APP_ROLE, Cluster
from local.temporary_database import APP_PASSWORD
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction, connector
from parlour.infra.queries import Queries, Query
from parlour.infra.transaction import adapt_parameters
from parlour.tenancy import roles, tenants
from tests.conftest import NOW
from tests.conversation_harness import open_conversation_harness
from tests.integration.working_day import play_working_day

QUERIES = {
    query.name: query
    for path in sorted(Path("shared/parlour").rglob("queries.sql"))
    for query in Queries(path).values()
}

READ_BEFORE_THE_TENANT_IS_KNOWN = {
    "tenancy.find_routing_key",
    "tenancy.count_tenants_with_numbers",
    "tenancy.count_tenants",
    "tenancy.find_routing_claims",
    "tenancy.list_waiting_routes",
    "tenancy.list_member_tenants",
    "tenancy.list_all_tenants",
    "jobs.list_overdue_work",
    "due.list_tenants_with_due_pulses",
}
"""The way from a number, host or sign-in to its tenant, and from a time to the work that is due then; they tell where a
tenant is, and nothing that is the tenant's."""

NAMES_THE_TENANT = {
    "jobs.find_work",
    "jobs.find_lease_end",
    "jobs.lock_work",
    "index.find_types_to_backfill",
    "due.list_due_pulses",
    "due.find_next_due_at",
    "extraction.read_backlog",
}
"""Reads of what is due that say whose themselves, since there row-level security lets everybody look."""


OF_WHAT_IS_BURIED = {
    "conversations.list_unread_answers",
    "conversations.list_waiting_texts",
    "inbox.list_unheard",
    "tools.list_unanswered",
    "conversations.count_running_turns",
    "builtin.lock_agent_writes",
    "files.lock_record_of_file",
    "conversations.lock_abandoned_uploads",
    "writing.find_open_question",
    "records.find_linked_record_ids",
    "linking.lock_link",
    "linking.lock_sessions",
    "linking.lock_contact",
    "linking.is_session_empty",
    "inspection.lock_fact",
    "extraction.list_interim_episodes",
    "approvals.list_approved",
    "archive.lock_old_messages",
    "extraction.find_similar_episodes",
    "extraction.find_episode_sources",
    "erasure.lock_running_erasure",
    "erasure.find_newer_turns",
    "erasure.find_ledger_rows",
    "ledger.find_sessions_briefed_from",
    "erasure.find_titles_matching",
    "erasure.plan_pack_changes",
    "packs.list_changes",
    "notifications.find_chatwoot_session",
    "notifications.find_predecessor",
    "notifications.list_pending",
    "tenancy.list_waiting_claims",
}
"""Reads of a row that the same act takes away: when the day is over nothing is left that could leak."""

ASKS_FOR_ONES_OWN = {
    "index.lock_tenant",
    "packs.lock_tenant",
    "packs.read_configuration",
    "tenancy.find_tenant",
    "tenancy.list_own_routing_keys",
    "tenancy.list_audit_entries",
    "tenancy.versions",
    "models.find_today",
    "models.find_own_cap",
    "models.list_daily_spend",
    "due.read_budget",
    "due.own_pulse_cap",
    "due.lock_wakeup",
    "reading.read_current_statistics",
    "records.lock_tenant",
    "files.find_model_routing",
    "index.tenant_space",
    "erasure.list_routing_keys",
    "conversations.find_oldest_passing_event",
}
"""Reads without a parameter that names a row: a neighbour gets its own, and nobody gets nothing."""


@dataclass
class Recording:
    """The parameters with which each query returned or touched rows."""

    reached: dict[str, Mapping[str, object]] = field(default_factory=dict)

    def note(self, query: Query, parameters: Mapping[str, object], rows: int) -> None:
        if rows > 0 and query.name not in self.reached:
            self.reached[query.name] = dict(parameters)


@contextmanager
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    """Every transaction, while it lasts, notes what its queries reached."""
    kept = Recording()
    real_all, real_first, real_value, real_run = Transaction.all, Transaction.first, Transaction.value, Transaction.run
    real_many = Transaction.run_many

    def all_(self: Transaction, query: Query, record: type[Any], /, **parameters: object) -> list[Any]:
        rows = real_all(self, query, record, **parameters)
        kept.note(query, parameters, len(rows))
        return rows

    def first(self: Transaction, query: Query, record: type[Any], /, **parameters: object) -> Any:
        row = real_first(self, query, record, **parameters)
        kept.note(query, parameters, row is not None)
        return row

    def value(self: Transaction, query: Query, /, **parameters: object) -> Any:
        found = real_value(self, query, **parameters)
        kept.note(query, parameters, found not in (None, False))
        return found

    def run(self: Transaction, query: Query, /, **parameters: object) -> int:
        touched = real_run(self, query, **parameters)
        kept.note(query, parameters, touched)
        return touched

    def run_many(self: Transaction, query: Query, rows: Sequence[Mapping[str, object]], /) -> None:
        real_many(self, query, rows)
        for row in rows[:1]:
            kept.note(query, row, 1)

    wrappers = {"all": all_, "first": first, "value": value, "run": run, "run_many": run_many}
    with monkeypatch.context() as patch:
        for name, wrapped in wrappers.items():
            patch.setattr(Transaction, name, wrapped)
        yield kept


@dataclass
class Inside:
    """A superuser's connection that looks at everything, and runs queries as the app role for a tenant."""

    connection: psycopg.Connection[Any]

    def run_as(self, tenant: UUID | None, query: Query, parameters: Mapping[str, object], role: str) -> str:
        """What the query returns, as text; a refusal by the database returns nothing."""
        self.connection.execute("SELECT set_config('app.tenant_id', %s, true)", (str(tenant or ""),))
        self.connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role)))
        try:
            with self.connection.transaction():
                cursor = self.connection.execute(query.sql.encode(), adapt_parameters(parameters))
                return str(cursor.fetchall()) if cursor.description else ""
        except psycopg.Error as refusal:
            if isinstance(refusal, psycopg.OperationalError | psycopg.errors.SyntaxErrorOrAccessRuleViolation) and not (
                isinstance(refusal, psycopg.errors.InsufficientPrivilege)
            ):
                raise
            return ""
        finally:
            self.connection.execute("RESET ROLE")

    def writes(self) -> int:
        """How many rows were written since the transaction began, also in parts of it that were rolled back."""
        counted = "SELECT COALESCE(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_xact_user_tables"
        (row,) = self.connection.execute(counted).fetchall()
        return int(row[0])

    def everything_of(self, tenant: UUID) -> dict[str, list[Any]]:
        """Every row of the tenant in every table."""
        tables = self.connection.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = 'public' AND column_name = 'tenant_id'"
        ).fetchall()
        return {
            name: self.connection.execute(
                sql.SQL("SELECT * FROM {} t WHERE tenant_id = %s ORDER BY t::text").format(sql.Identifier(name)),
                (tenant,),
            ).fetchall()
            for (name,) in tables
        }


@dataclass(frozen=True)
class Played:
    """A day that was played: in which database, by which tenant, with which neighbour, and what its queries reached."""

    database_name: str
    tenant_id: UUID
    neighbour: UUID
    reached: Mapping[str, Mapping[str, object]]


@pytest.fixture(scope="module")
def day(cluster: Cluster, template: str) -> Iterator[Played]:
    """One day for all tests here: each looks at it in a transaction that it rolls back."""
    name = "working_day"
    cluster.create(name, template)
    database = Database(connector(cluster.connection_parameters(name, APP_ROLE, APP_PASSWORD)))
    try:
        with pytest.MonkeyPatch.context() as patch, recording(patch) as kept:
            desk = open_conversation_harness(database, NOW)
            play_working_day(desk)
        yield Played(name, desk.tenant_id, open_neighbour(database), kept.reached)
    finally:
        database.close()
        cluster.drop(name)


def open_neighbour(database: Database) -> UUID:
    """Another tenant, with a little of its own."""
    tenant_id = uuid7(NOW)
    operator = roles.operator_principal(tenant_id)
    with database.transaction(operator) as tx:
        tenants.create_tenant(operator, tx, slug="brick", display_name="Brick", settings={}, now=NOW)
    return tenant_id


def is_read(query: Query) -> bool:
    """Whether the query only looks, and not at what everybody may see."""
    return query.sql.startswith("SELECT") and query.name not in READ_BEFORE_THE_TENANT_IS_KNOWN


def ids_of(rows: Mapping[str, Sequence[Sequence[object]]]) -> set[str]:
    """The ids of the tenant's rows, its own id among them."""
    return {str(value) for table in rows.values() for row in table for value in row if isinstance(value, UUID)}


def test_the_day_reaches_every_query_of_every_room(day: Played) -> None:
    assert set(QUERIES) - set(day.reached) == set()


def test_no_query_gives_another_tenant_or_nobody_anything(day: Played, cluster: Cluster) -> None:
    with cluster.connect_as_superuser(day.database_name) as connection, connection.transaction(force_rollback=True):
        inside = Inside(connection)
        before = inside.everything_of(day.tenant_id)
        ids = ids_of(before)
        assert len(ids) > 200
        for name, parameters in day.reached.items():
            given = {str(value) for value in parameters.values()} | set(str(list(parameters.values())).split("'"))
            for tenant in (day.neighbour, None):
                with connection.transaction(force_rollback=True):
                    written = inside.writes()
                    seen = inside.run_as(tenant, QUERIES[name], parameters, "parlour_app")
                    leaked = {one for one in ids - given if one in seen}
                    assert not leaked or name in READ_BEFORE_THE_TENANT_IS_KNOWN, f"{name} as {tenant}"
                    if is_read(QUERIES[name]) and (tenant is None or name not in ASKS_FOR_ONES_OWN):
                        assert seen == "[]", f"{name} as {tenant} returned rows"
                    if inside.writes() > written:  # or nothing can have changed
                        assert inside.everything_of(day.tenant_id) == before, f"{name} as {tenant} changed something"


def test_without_row_level_security_the_same_queries_would_leak(day: Played, cluster: Cluster) -> None:
    """The proof that the test above can fail: as a role that row-level security does not bind, they do."""
    leaking = set()
    with cluster.connect_as_superuser(day.database_name) as connection, connection.transaction(force_rollback=True):
        inside = Inside(connection)
        before = inside.everything_of(day.tenant_id)
        ids = ids_of(before)
        for name, parameters in day.reached.items():
            with connection.transaction(force_rollback=True):
                written = inside.writes()
                seen = inside.run_as(day.neighbour, QUERIES[name], parameters, "postgres")
                changed = inside.writes() > written and inside.everything_of(day.tenant_id) != before
                if changed or any(one in seen for one in ids) or (is_read(QUERIES[name]) and seen != "[]"):
                    leaking.add(name)
    reads = {name for name in day.reached if is_read(QUERIES[name])}
    assert reads - NAMES_THE_TENANT - OF_WHAT_IS_BURIED <= leaking
    assert len(leaking - reads) > 50, "what writes is found to"
    assert len(leaking) > 50
