"""How a statement is planned, what is set for one transaction, and a statement that is sent ahead."""

import time
from dataclasses import dataclass

import psycopg
import pytest

from local.database import Cluster
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queries import Query

PLANS = Query(
    "test.plans", "How often a statement was planned for all parameters, and how often for its own.",
    """
SELECT generic_plans AS once, custom_plans AS anew FROM pg_prepared_statements WHERE statement LIKE 'SELECT id FROM %%'
""",
)  # fmt: skip
MODE = Query("test.mode", "How statements are planned now.", "SELECT current_setting('plan_cache_mode')")
ANEW = Query("test.anew", "The same, planned anew.", "SELECT current_setting('plan_cache_mode')", anew=True)
COMMIT = Query("test.commit", "Whether commits wait.", "SELECT current_setting('synchronous_commit')")
SLOW = Query("test.slow", "Numbers, a little later.", "SELECT number FROM generate_series(1, 3) number, pg_sleep(0.15)")
PID = Query("test.pid", "Which connection.", "SELECT pg_backend_pid()")
WRONG = Query("test.wrong", "No number.", "SELECT 1 / 0 AS number")


@dataclass(frozen=True)
class Plans:
    once: int
    anew: int


@dataclass(frozen=True)
class Number:
    number: int


def dear(*, once: bool) -> Query:
    """A statement that PostgreSQL plans for its parameters five times before it thinks of a plan for all."""
    return Query("test.dear", "Few or many.", "SELECT id FROM work_due WHERE due_at > %(after)s", once=once)


@pytest.mark.parametrize(("once", "kept"), [(True, 8), (False, 3)])
def test_a_statement_is_planned_once_where_it_says_so(database: Database, once: bool, kept: int) -> None:
    with database.transaction(None) as tx:
        for _ in range(10):
            tx.value(dear(once=once), after="2026-01-01")
        (plans,) = tx.all(PLANS, Plans)
    assert plans == Plans(once=kept, anew=8 - kept)


def test_that_holds_until_a_statement_is_planned_anew_or_the_transaction_is_over(database: Database) -> None:
    with database.transaction(None) as tx:
        assert tx.value(MODE) == "auto"
        tx.value(dear(once=True), after="2026-01-01")
        assert tx.value(MODE) == "force_generic_plan"
        assert tx.value(ANEW) == "auto"
        tx.value(dear(once=True), after="2026-01-01")
        assert tx.value(MODE) == "force_generic_plan"
    with database.transaction(None) as tx:
        assert tx.value(MODE) == "auto"


def test_a_lazy_commit_is_one_transactions_own(database: Database) -> None:
    with database.transaction(None) as tx:
        tx.commit_lazily()
        assert tx.value(COMMIT) == "off"
    with database.transaction(None) as tx:
        assert tx.value(COMMIT) == "on"


def test_a_statement_that_was_sent_ahead_is_waited_for_later(database: Database) -> None:
    with database.transaction(None) as tx:
        with tx.ahead(SLOW, Number) as found:
            assert found() == [Number(1), Number(2), Number(3)]
            assert tx.value(MODE) == "auto"
        assert tx.value(COMMIT) == "on"


def test_meanwhile_the_database_is_at_it(database: Database) -> None:
    with database.transaction(None) as tx, tx.ahead(SLOW, Number) as found:
        time.sleep(0.2)
        begun = time.monotonic()
        found()
        assert time.monotonic() - begun < 0.1


def test_nobody_need_wait_for_it(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.transaction(None) as tx, tx.ahead(SLOW, Number):
        1 // 0  # noqa: B018 - the point is what becomes of the connection
    with database.transaction(None) as tx:
        assert tx.value(MODE) == "auto"


def test_where_the_connection_dies_meanwhile_the_work_is_done_again(database: Database, cluster: Cluster) -> None:
    asked: list[int] = []

    def work(tx: Transaction) -> list[Number]:
        asked.append(tx.value(PID))
        with tx.ahead(SLOW, Number) as found:
            if len(asked) == 1:
                with cluster.superuser() as owner:
                    owner.execute("SELECT pg_terminate_backend(%s)", (asked[0],))
            return found()

    assert database.run(None, work) == [Number(1), Number(2), Number(3)]
    assert len(set(asked)) == 2


def test_its_error_is_told_to_who_waits_and_the_connection_stays(database: Database) -> None:
    before = database.run(None, lambda tx: tx.value(PID))
    with pytest.raises(psycopg.errors.DivisionByZero), database.transaction(None) as tx:  # noqa: SIM117
        with tx.ahead(WRONG, Number) as found:
            found()
    assert database.run(None, lambda tx: tx.value(PID)) == before
