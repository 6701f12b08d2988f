"""A turn asks no model that the tenant's daily cap leaves no room for; it says so politely, and nothing leaks."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import ROUND_UP, Decimal

import pytest

from parlour.conversations import canned_replies
from parlour.infra.errors import ProviderUnavailable
from parlour.infra.json_values import JsonObject
from parlour.models import cost_report, spend
from parlour.models.cost_report import DayCosts
from parlour.tenancy import tenants
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call


def replies(conversation: ConversationHarness) -> list[object]:
    return [
        body
        for (body,) in conversation.query("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")
    ]


def test_the_eleventh_call_under_a_cap_of_ten_gets_the_polite_line(conversation: ConversationHarness) -> None:
    reserved, spent = _one_turn(conversation)
    cap = 9 * spent + reserved  # ten calls: nine settled, and room for the worst of the tenth
    with conversation.database.transaction(conversation.admin) as tx:
        spend.set_daily_cap(conversation.admin, tx, cap.quantize(Decimal("0.0001"), ROUND_UP), conversation.clock())
    conversation.query("DELETE FROM spend_days RETURNING 1")
    for number in range(11):
        _somebody_asks(conversation, number)
    assert replies(conversation)[1:] == ["Hello."] * 10 + [canned_replies.DAILY_CAP_REPLY]
    assert conversation.query("SELECT degraded, problem FROM turns ORDER BY frozen_at DESC LIMIT 1") == [
        (True, "spend_cap")
    ]
    assert conversation.query("SELECT count(*) FROM spend_reservations") == [(0,)]


def test_a_stopped_tenant_hears_the_polite_line_and_no_model_is_called(conversation: ConversationHarness) -> None:
    with conversation.database.transaction(conversation.admin) as tx:
        spend.stop_model_calls(conversation.admin, tx, conversation.clock())
    conversation.send_whatsapp("Hello?")
    conversation.run_turn()
    assert replies(conversation) == [canned_replies.STOPPED_REPLY]
    assert conversation.model.requests == []
    assert conversation.query("SELECT problem FROM turns") == [("spend_cap",)]


def test_a_tenants_own_text_is_sent_for_its_cause(conversation: ConversationHarness) -> None:
    settings: JsonObject = {"replies": {"stopped": {"en": "We take a break."}}}
    with conversation.database.transaction(conversation.admin) as tx:
        tenants.update_tenant(conversation.admin, tx, display_name="Acme", settings=settings, now=conversation.clock())
        spend.stop_model_calls(conversation.admin, tx, conversation.clock())
    conversation.send_whatsapp("Hello?")
    conversation.run_turn()
    assert replies(conversation) == ["We take a break."]


def test_tries_that_failed_are_settled_with_the_one_that_answered(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello?")
    conversation.model.script = [ProviderUnavailable(), text_answer("Hello.")]
    conversation.run_turn()
    assert conversation.query("SELECT outcome FROM llm_calls ORDER BY outcome") == [("ok",), ("unavailable",)]
    assert conversation.query("SELECT count(*) FROM spend_reservations") == [(0,)]
    assert conversation.query("SELECT spent_usd = (SELECT sum(cost_usd) FROM llm_calls) FROM spend_days") == [(True,)]


def test_a_chain_that_is_exhausted_leaves_no_reservation(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello?")
    conversation.model.script = [ProviderUnavailable()] * 4
    conversation.run_turn()
    assert replies(conversation) == [canned_replies.UNAVAILABLE_REPLY]
    assert conversation.query("SELECT count(*) FROM spend_reservations") == [(0,)]


def test_a_reservation_ends_with_the_invocation_of_a_worker_that_died(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello?")

    class Killed(BaseException):
        """Stands for the end of the process."""

    def end() -> None:
        raise Killed

    conversation.model.before_completion = end
    conversation.model.script = [text_answer("Hello.")]
    with pytest.raises(Killed):
        conversation.run_turn()
    ((expires_at,),) = conversation.query("SELECT expires_at FROM spend_reservations")
    assert isinstance(expires_at, datetime)
    assert round((expires_at - conversation.clock.now).total_seconds()) == 60


def test_what_a_worker_that_died_may_have_spent_is_told_and_no_longer_reserved(
    conversation: ConversationHarness,
) -> None:
    class Killed(BaseException):
        """Stands for the end of the process."""

    def end() -> None:
        raise Killed

    conversation.send_whatsapp("Hello?")
    conversation.model.before_completion, conversation.model.script = end, [text_answer("Hello.")]
    with pytest.raises(Killed):
        conversation.run_turn()
    ((reserved,),) = conversation.query("SELECT amount_usd FROM spend_reservations")
    assert _told(conversation) == (Decimal(0), reserved, Decimal(0)), "under way, as far as anybody can tell"
    conversation.clock.now += timedelta(minutes=2)
    assert _told(conversation) == (Decimal(0), Decimal(0), reserved), (
        "there is room again, and it is told what there was"
    )
    conversation.clock.now += timedelta(days=3)
    conversation.model.before_completion = lambda: None
    _somebody_asks(conversation, 1)
    assert [day.unsettled_usd for day in _days(conversation)] == [0, 0, 0, reserved], (
        "and a call's settling does not clear it away"
    )


def test_every_step_of_a_turn_is_reserved_and_settled(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack?")
    conversation.model.script = [
        search_call("crack"),
        tool_call("search_knowledge", "call_2", query="C4"),
        text_answer("0.35 mm [1]."),
    ]
    conversation.run_turn()
    assert conversation.query("SELECT spent_usd = (SELECT sum(cost_usd) FROM llm_calls) FROM spend_days") == [(True,)]


def _told(conversation: ConversationHarness) -> tuple[Decimal, Decimal, Decimal]:
    """What today is spent, reserved, and perhaps spent besides."""
    with conversation.database.transaction(conversation.admin) as tx:
        today = spend.read_today(conversation.admin, tx, Decimal(20), conversation.clock())
    return today.spent_usd, today.reserved_usd, _days(conversation)[0].unsettled_usd


def _days(conversation: ConversationHarness) -> Sequence[DayCosts]:
    with conversation.database.transaction(conversation.admin) as tx:
        return cost_report.read_cost_report(conversation.admin, tx, 4, conversation.clock()).days


def _somebody_asks(conversation: ConversationHarness, number: int) -> None:
    """The same short question, each time of another person, so that every prompt is as long."""
    conversation.send_whatsapp("Hello?", f"m{number}", sender=f"+9198000001{number:02}")
    conversation.model.script = [text_answer("Hello.")]
    conversation.run_turn()


def _one_turn(conversation: ConversationHarness) -> tuple[Decimal, Decimal]:
    """What a turn like those reserves, and what it costs."""
    reserved: list[Decimal] = []

    def look() -> None:
        ((amount,),) = conversation.query("SELECT sum(amount_usd) FROM spend_reservations")
        reserved.append(Decimal(str(amount)))

    conversation.model.before_completion = look
    _somebody_asks(conversation, 99)
    conversation.model.before_completion = lambda: None
    ((spent,),) = conversation.query("SELECT spent_usd FROM spend_days")
    return reserved[0], Decimal(str(spent))
