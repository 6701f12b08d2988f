"""A turn asks no model that the tenant's daily cap leaves no room for; it says so politely, and nothing leaks."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import ROUND_UP, Decimal

import pytest

from parlour.conversations import canned_replies
from parlour.infra.errors import ProviderUnavailable
from parlour.models import cost_report, spend
from parlour.models.store import DailySpend
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call


def replies(desk: ConversationHarness) -> list[object]:
    return [body for (body,) in desk.query("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")]


def test_the_eleventh_call_under_a_cap_of_ten_gets_the_polite_line(desk: ConversationHarness) -> None:
    reserved, spent = _one_turn(desk)
    cap = 9 * spent + reserved  # ten calls: nine settled, and room for the worst of the tenth
    with desk.database.transaction(desk.admin) as tx:
        spend.set_daily_cap(desk.admin, tx, cap.quantize(Decimal("0.0001"), ROUND_UP), desk.clock())
    desk.query("DELETE FROM spend_days RETURNING 1")
    for number in range(11):
        _somebody_asks(desk, number)
    assert replies(desk)[1:] == ["Hello."] * 10 + [canned_replies.DAILY_CAP_REPLY]
    assert desk.query("SELECT degraded, problem FROM turns ORDER BY frozen_at DESC LIMIT 1") == [(True, "spend_cap")]
    assert desk.query("SELECT count(*) FROM spend_reservations") == [(0,)]


def test_a_stopped_tenant_hears_the_polite_line_and_no_model_is_called(desk: ConversationHarness) -> None:
    with desk.database.transaction(desk.admin) as tx:
        spend.stop_model_calls(desk.admin, tx, desk.clock())
    desk.send_whatsapp("Hello?")
    desk.run_turn()
    assert replies(desk) == [canned_replies.DAILY_CAP_REPLY]
    assert desk.model.requests == []


def test_tries_that_failed_are_settled_with_the_one_that_answered(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Hello?")
    desk.model.script = [ProviderUnavailable(), text_answer("Hello.")]
    desk.run_turn()
    assert desk.query("SELECT outcome FROM llm_calls ORDER BY outcome") == [("ok",), ("unavailable",)]
    assert desk.query("SELECT count(*) FROM spend_reservations") == [(0,)]
    assert desk.query("SELECT spent_usd = (SELECT sum(cost_usd) FROM llm_calls) FROM spend_days") == [(True,)]


def test_a_chain_that_is_exhausted_leaves_no_reservation(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Hello?")
    desk.model.script = [ProviderUnavailable()] * 4
    desk.run_turn()
    assert replies(desk) == [canned_replies.UNAVAILABLE_REPLY]
    assert desk.query("SELECT count(*) FROM spend_reservations") == [(0,)]


def test_a_reservation_ends_with_the_lease_of_a_worker_that_died(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Hello?")

    class Killed(BaseException):
        """Stands for the end of the process."""

    def end() -> None:
        raise Killed

    desk.model.before_completion = end
    desk.model.script = [text_answer("Hello.")]
    with pytest.raises(Killed):
        desk.run_turn()
    assert desk.query(
        "SELECT count(*), bool_and(r.expires_at = s.lease_until) FROM spend_reservations r, sessions s"
    ) == [(1, True)]


def test_what_a_worker_that_died_may_have_spent_is_told_and_no_longer_reserved(desk: ConversationHarness) -> None:
    class Killed(BaseException):
        """Stands for the end of the process."""

    def end() -> None:
        raise Killed

    desk.send_whatsapp("Hello?")
    desk.model.before_completion, desk.model.script = end, [text_answer("Hello.")]
    with pytest.raises(Killed):
        desk.run_turn()
    ((reserved,),) = desk.query("SELECT amount_usd FROM spend_reservations")
    assert _told(desk) == (Decimal(0), reserved, Decimal(0)), "under way, as far as anybody can tell"
    desk.clock.now += timedelta(minutes=2)
    assert _told(desk) == (Decimal(0), Decimal(0), reserved), "there is room again, and it is told what there was"
    desk.clock.now += timedelta(days=3)
    desk.model.before_completion = lambda: None
    _somebody_asks(desk, 1)
    assert [day.unsettled_usd for day in _days(desk)] == [0, 0, 0, reserved], (
        "and a call's settling does not clear it away"
    )


def test_every_step_of_a_turn_is_reserved_and_settled(desk: ConversationHarness) -> None:
    desk.send_whatsapp("How wide is the crack?")
    desk.model.script = [
        search_call("crack"),
        tool_call("search_knowledge", "call_2", query="C4"),
        text_answer("0.35 mm [1]."),
    ]
    desk.run_turn()
    assert desk.query("SELECT spent_usd = (SELECT sum(cost_usd) FROM llm_calls) FROM spend_days") == [(True,)]


def _told(desk: ConversationHarness) -> tuple[Decimal, Decimal, Decimal]:
    """What today is spent, reserved, and perhaps spent besides."""
    with desk.database.transaction(desk.admin) as tx:
        today = spend.read_today(desk.admin, tx, Decimal(20), desk.clock())
    return today.spent_usd, today.reserved_usd, _days(desk)[0].unsettled_usd


def _days(desk: ConversationHarness) -> Sequence[DailySpend]:
    with desk.database.transaction(desk.admin) as tx:
        return cost_report.read_cost_report(desk.admin, tx, 4, desk.clock()).days


def _somebody_asks(desk: ConversationHarness, number: int) -> None:
    """The same short question, each time of another person, so that every prompt is as long."""
    desk.send_whatsapp("Hello?", f"m{number}", sender=f"+9198000001{number:02}")
    desk.model.script = [text_answer("Hello.")]
    desk.run_turn()


def _one_turn(desk: ConversationHarness) -> tuple[Decimal, Decimal]:
    """What a turn like those reserves, and what it costs."""
    reserved: list[Decimal] = []

    def look() -> None:
        ((amount,),) = desk.query("SELECT sum(amount_usd) FROM spend_reservations")
        reserved.append(Decimal(str(amount)))

    desk.model.before_completion = look
    _somebody_asks(desk, 99)
    desk.model.before_completion = lambda: None
    ((spent,),) = desk.query("SELECT spent_usd FROM spend_days")
    return reserved[0], Decimal(str(spent))
