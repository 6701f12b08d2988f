"""How a statement is planned."""

from dataclasses import dataclass

import pytest

from parlour.infra.postgres import Database
from parlour.infra.queries import Query

PLANS = Query(
    "test.plans", "How often a statement was planned for all parameters, and how often for its own.",
    """
SELECT generic_plans AS once, custom_plans AS anew FROM pg_prepared_statements WHERE statement LIKE 'SELECT id FROM %%'
""",
)  # fmt: skip
MODE = Query("test.mode", "How statements are planned now.", "SELECT current_setting('plan_cache_mode')")
ANEW = Query("test.anew", "The same, planned anew.", "SELECT current_setting('plan_cache_mode')", anew=True)


@dataclass(frozen=True)
class Plans:
    once: int
    anew: int


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
