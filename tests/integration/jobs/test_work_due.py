"""What is due: found whoever's it is, changed only by its own tenant."""

from datetime import datetime, timedelta
from uuid import UUID

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.jobs import work_due
from parlour.jobs.work_due import DueWork
from parlour.tenancy import roles, tenants

MINUTE = timedelta(minutes=1)


@pytest.fixture
def ours(database: Database, now: datetime) -> UUID:
    return a_tenant(database, now, "ours")


@pytest.fixture
def theirs(database: Database, now: datetime) -> UUID:
    return a_tenant(database, now, "theirs")


def a_tenant(database: Database, now: datetime, slug: str) -> UUID:
    operator = roles.operator_principal(uuid7(now))
    with database.transaction(operator) as tx:
        tenants.create_tenant(operator, tx, slug=slug, display_name=slug, settings={}, now=now)
    return operator.tenant_id


def due(database: Database, now: datetime, most: int = 10) -> list[DueWork]:
    return database.run(None, lambda tx: work_due.list_overdue(tx, now, most))


def test_work_of_every_tenant_is_found_when_its_time_has_come_longest_due_first(
    database: Database, ours: UUID, theirs: UUID, now: datetime
) -> None:
    one, two, three = (uuid7(now) for _ in range(3))
    database.run(ours, lambda tx: work_due.schedule(tx, "session", one, now - MINUTE))
    database.run(theirs, lambda tx: work_due.schedule(tx, "outbox", two, now - 2 * MINUTE))
    database.run(ours, lambda tx: work_due.schedule(tx, "tool_call", three, now + MINUTE))
    first, second = DueWork(theirs, "outbox", two, now - 2 * MINUTE), DueWork(ours, "session", one, now - MINUTE)
    assert due(database, now) == [first, second]
    assert due(database, now, most=1) == [first]
    assert due(database, now + MINUTE)[2:] == [DueWork(ours, "tool_call", three, now + MINUTE)]


def test_the_last_word_counts_and_twice_is_once(database: Database, ours: UUID, now: datetime) -> None:
    work = uuid7(now)
    for later in (MINUTE, 3 * MINUTE, 2 * MINUTE):
        database.run(ours, lambda tx, at=now + later: work_due.schedule(tx, "session", work, at))  # type: ignore[misc]
    assert due(database, now + 5 * MINUTE) == [DueWork(ours, "session", work, now + 2 * MINUTE)]


def test_what_is_settled_is_gone_and_settling_again_changes_nothing(
    database: Database, ours: UUID, now: datetime
) -> None:
    work = uuid7(now)
    database.run(ours, lambda tx: work_due.schedule(tx, "session", work, now))
    database.run(ours, lambda tx: work_due.schedule(tx, "outbox", work, now))
    for _ in range(2):
        database.run(ours, lambda tx: work_due.complete(tx, "session", work))
    assert [one.kind for one in due(database, now)] == ["outbox"]


def test_nobody_settles_or_moves_what_is_another_tenants(
    database: Database, ours: UUID, theirs: UUID, now: datetime
) -> None:
    work = uuid7(now)
    database.run(ours, lambda tx: work_due.schedule(tx, "session", work, now))
    database.run(theirs, lambda tx: work_due.complete(tx, "session", work))
    database.run(None, lambda tx: work_due.complete(tx, "session", work))
    database.run(theirs, lambda tx: work_due.schedule(tx, "session", work, now + MINUTE))
    assert due(database, now) == [DueWork(ours, "session", work, now)]
