"""A turn asks no model that the tenant's daily cap leaves no room for; it says so politely, and nothing leaks."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import ROUND_UP, Decimal

import pytest

from parlour.infra.errors import ProviderUnavailable
from parlour.models import costs, spend
from parlour.models.store import SpentDay
from parlour.turns import polite
from tests.desk import Desk, calls, says, searches


def replies(desk: Desk) -> list[object]:
    return [body for (body,) in desk.rows("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")]


def test_the_eleventh_call_under_a_cap_of_ten_gets_the_polite_line(desk: Desk) -> None:
    reserved, spent = _one_turn(desk)
    cap = 9 * spent + reserved  # ten calls: nine settled, and room for the worst of the tenth
    with desk.database.transaction(desk.admin) as tx:
        spend.set_cap(desk.admin, tx, cap.quantize(Decimal("0.0001"), ROUND_UP), desk.clock())
    desk.rows("DELETE FROM spend_days RETURNING 1")
    for number in range(11):
        _somebody_asks(desk, number)
    assert replies(desk)[1:] == ["Hello."] * 10 + [polite.OVER_CAP]
    assert desk.rows("SELECT degraded, problem FROM turns ORDER BY frozen_at DESC LIMIT 1") == [(True, "spend_cap")]
    assert desk.rows("SELECT count(*) FROM spend_reservations") == [(0,)]


def test_a_stopped_tenant_hears_the_polite_line_and_no_model_is_called(desk: Desk) -> None:
    with desk.database.transaction(desk.admin) as tx:
        spend.stop(desk.admin, tx, desk.clock())
    desk.write("Hello?")
    desk.run()
    assert replies(desk) == [polite.OVER_CAP]
    assert desk.model.requests == []


def test_tries_that_failed_are_settled_with_the_one_that_answered(desk: Desk) -> None:
    desk.write("Hello?")
    desk.model.script = [ProviderUnavailable(), says("Hello.")]
    desk.run()
    assert desk.rows("SELECT outcome FROM llm_calls ORDER BY outcome") == [("ok",), ("unavailable",)]
    assert desk.rows("SELECT count(*) FROM spend_reservations") == [(0,)]
    assert desk.rows("SELECT spent_usd = (SELECT sum(cost_usd) FROM llm_calls) FROM spend_days") == [(True,)]


def test_a_chain_that_is_exhausted_leaves_no_reservation(desk: Desk) -> None:
    desk.write("Hello?")
    desk.model.script = [ProviderUnavailable()] * 4
    desk.run()
    assert replies(desk) == [polite.SLOW]
    assert desk.rows("SELECT count(*) FROM spend_reservations") == [(0,)]


def test_a_reservation_ends_with_the_lease_of_a_worker_that_died(desk: Desk) -> None:
    desk.write("Hello?")

    class Killed(BaseException):
        """Stands for the end of the process."""

    def end() -> None:
        raise Killed

    desk.model.during = end
    desk.model.script = [says("Hello.")]
    with pytest.raises(Killed):
        desk.run()
    assert desk.rows(
        "SELECT count(*), bool_and(r.expires_at = s.lease_until) FROM spend_reservations r, sessions s"
    ) == [(1, True)]


def test_what_a_worker_that_died_may_have_spent_is_told_and_no_longer_reserved(desk: Desk) -> None:
    class Killed(BaseException):
        """Stands for the end of the process."""

    def end() -> None:
        raise Killed

    desk.write("Hello?")
    desk.model.during, desk.model.script = end, [says("Hello.")]
    with pytest.raises(Killed):
        desk.run()
    ((reserved,),) = desk.rows("SELECT amount_usd FROM spend_reservations")
    assert _told(desk) == (Decimal(0), reserved, Decimal(0)), "under way, as far as anybody can tell"
    desk.clock.now += timedelta(minutes=2)
    assert _told(desk) == (Decimal(0), Decimal(0), reserved), "there is room again, and it is told what there was"
    desk.clock.now += timedelta(days=3)
    desk.model.during = lambda: None
    _somebody_asks(desk, 1)
    assert [day.unsettled for day in _days(desk)] == [0, 0, 0, reserved], "and a call's settling does not clear it away"


def test_every_step_of_a_turn_is_reserved_and_settled(desk: Desk) -> None:
    desk.write("How wide is the crack?")
    desk.model.script = [searches("crack"), calls("search_knowledge", "call_2", query="C4"), says("0.35 mm [1].")]
    desk.run()
    assert desk.rows("SELECT spent_usd = (SELECT sum(cost_usd) FROM llm_calls) FROM spend_days") == [(True,)]


def _told(desk: Desk) -> tuple[Decimal, Decimal, Decimal]:
    """What today is spent, reserved, and perhaps spent besides."""
    with desk.database.transaction(desk.admin) as tx:
        today = spend.today(desk.admin, tx, Decimal(20), desk.clock())
    return today.spent, today.reserved, _days(desk)[0].unsettled


def _days(desk: Desk) -> Sequence[SpentDay]:
    with desk.database.transaction(desk.admin) as tx:
        return costs.costs(desk.admin, tx, 4, desk.clock()).days


def _somebody_asks(desk: Desk, number: int) -> None:
    """The same short question, each time of another person, so that every prompt is as long."""
    desk.write("Hello?", f"m{number}", sender=f"+9198000001{number:02}")
    desk.model.script = [says("Hello.")]
    desk.run()


def _one_turn(desk: Desk) -> tuple[Decimal, Decimal]:
    """What a turn like those reserves, and what it costs."""
    reserved: list[Decimal] = []

    def look() -> None:
        ((amount,),) = desk.rows("SELECT sum(amount_usd) FROM spend_reservations")
        reserved.append(Decimal(str(amount)))

    desk.model.during = look
    _somebody_asks(desk, 99)
    desk.model.during = lambda: None
    ((spent,),) = desk.rows("SELECT spent_usd FROM spend_days")
    return reserved[0], Decimal(str(spent))
