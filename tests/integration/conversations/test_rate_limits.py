"""A flood is stored, answered in parts, and leaves room for others."""

import contextlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from parlour.conversations import canned_replies
from parlour.conversations.inbound_messages import SessionWakeup, WebMessage, receive_web_message
from parlour.conversations.turn_runner import run_session
from parlour.infra.errors import AnonymousShareSpent, DatabaseUnavailable, Forbidden, RateLimited
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.models import spend
from parlour.models.spend import Reservation
from parlour.principal import Principal
from parlour.tenancy import rate_limits
from parlour.tenancy.limits import Limits, RateLimit, message_limits
from tests.conversation_harness import ConversationHarness, text_answer


def set_limits(conversation: ConversationHarness, limits: JsonObject) -> None:
    conversation.query(f"UPDATE bindings SET limits = '{json.dumps(limits)}' RETURNING id")


def test_a_bucket_refuses_when_it_is_empty_and_refills_with_time(conversation: ConversationHarness) -> None:
    bucket, now = [RateLimit("visitor", "somebody", 3)], conversation.clock()
    who = conversation.admin
    for _ in range(3):
        rate_limits.require_tokens(conversation.database, who, bucket, now)
    with pytest.raises(RateLimited) as refused:
        rate_limits.require_tokens(conversation.database, who, bucket, now)
    assert refused.value.retry_after == 20
    rate_limits.require_tokens(conversation.database, who, bucket, now + timedelta(seconds=20))
    with pytest.raises(RateLimited):
        rate_limits.require_tokens(conversation.database, who, bucket, now + timedelta(seconds=20))
    with conversation.database.transaction(who) as tx:
        (row,) = rate_limits.list_limits(who, tx, 10).rows
    assert (row.scope, row.key, row.refused_count, row.was_refused) == ("visitor", "somebody", 2, True)


def test_buckets_that_nobody_uses_are_cleared_away(conversation: ConversationHarness) -> None:
    now = conversation.clock()
    for day, key in enumerate(("old", "new")):
        bucket = [RateLimit("visitor", key, 3)]
        rate_limits.require_tokens(conversation.database, conversation.admin, bucket, now + timedelta(days=2 * day))
    assert conversation.query("SELECT key FROM rate_limits") == [("new",)]


def test_a_phone_that_floods_reads_the_tenants_own_text(conversation: ConversationHarness) -> None:
    set_limits(conversation, {"visitor_per_minute": 1})
    conversation.query(
        'UPDATE tenants SET settings = \'{"replies": {"too_many_messages": {"en": "One moment."}}}\' RETURNING 1'
    )
    for number in range(2):
        conversation.send_whatsapp(f"Message {number}", f"m{number}")
    assert conversation.query("SELECT body FROM messages WHERE kind = 'notice'") == [("One moment.",)]


def test_a_phone_that_floods_is_told_once_and_answered_later(conversation: ConversationHarness) -> None:
    set_limits(conversation, {"visitor_per_minute": 2})
    for number in range(5):
        assert conversation.send_whatsapp(f"Message {number}", f"m{number}") == "stored"
    assert len(conversation.turns.sent) == 2
    bodies = conversation.query("SELECT body FROM messages WHERE kind = 'notice'")
    assert bodies == [(canned_replies.RATE_LIMIT_NOTICE,)]
    assert conversation.query("SELECT count(*) FROM outbox") == [(1,)]
    assert conversation.query("SELECT count(*) FROM messages WHERE state = 'unanswered'") == [(5,)]
    last = "(SELECT max(received_at) FROM messages)"
    assert conversation.query(
        f"SELECT due_at <= {last} + interval '61 seconds' FROM work_due WHERE kind = 'session'"
    ) == [(True,)]
    conversation.model.script = [text_answer("All five.")]
    conversation.run_turn()
    assert conversation.query("SELECT count(*) FROM messages WHERE state = 'unanswered'") == [(0,)]
    assert conversation.send_whatsapp("Again", "m1") == "duplicate"


def test_another_persons_messages_are_answered_meanwhile(conversation: ConversationHarness) -> None:
    set_limits(conversation, {"visitor_per_minute": 1})
    for number in range(3):
        conversation.send_whatsapp(f"Flood {number}", f"f{number}", sender="+919800000666")
    conversation.send_whatsapp("Hello", "h1")
    assert len(conversation.turns.sent) == 2


def test_a_turn_answers_fifty_messages_and_the_rest_waits(conversation: ConversationHarness) -> None:
    for number in range(53):
        conversation.send_whatsapp(f"Line {number}", f"m{number}")
    conversation.model.script = [text_answer("First."), text_answer("Second.")]
    conversation.run_turn()
    assert conversation.query("SELECT count(*) FROM messages WHERE state = 'unanswered'") == [(3,)]
    conversation.run_turn()
    assert conversation.query("SELECT count(*) FROM messages WHERE state = 'unanswered'") == [(0,)]


def test_a_turn_takes_64_kilobytes_and_at_least_one_message(conversation: ConversationHarness) -> None:
    visitor = conversation.create_visitor()
    session_id = conversation.find_session(visitor)
    for number in range(3):
        conversation.send_web(visitor, session_id, "x" * 40_000, f"m{number}")
    for left in (2, 1, 0):
        conversation.model.script = [text_answer("Read.")]
        conversation.run_turn()
        assert conversation.query("SELECT count(*) FROM messages WHERE state = 'unanswered'") == [(left,)]


def test_visitors_spend_their_share_and_phones_go_on(conversation: ConversationHarness) -> None:
    conversation.query("UPDATE tenants SET daily_cap_usd = 1 RETURNING 1")
    now = conversation.clock()

    def reserve(amount: str, share: str | None) -> None:
        wanted = Reservation(
            id=uuid7(now),
            amount=Decimal(amount),
            purpose="turn",
            default_cap=Decimal(20),
            expires_at=now + timedelta(minutes=5),
            anonymous_share=Decimal(share) if share else None,
        )
        spend.reserve_in_transaction(conversation.database, conversation.admin, wanted, now)
        with conversation.database.transaction(conversation.admin) as tx:
            spend.settle(tx, [wanted.id], wanted.amount, default_cap=Decimal(20), now=now)

    reserve("0.15", "0.2")
    with pytest.raises(AnonymousShareSpent):
        reserve("0.1", "0.2")
    reserve("0.5", None)
    reserve("0.05", "0.2")
    with pytest.raises(AnonymousShareSpent):
        reserve("0.01", "0.2")
    assert conversation.query("SELECT spent_usd, anonymous_usd FROM spend_days") == [(Decimal("0.7"), Decimal("0.2"))]
    assert conversation.query("SELECT warned_percent FROM spend_days") == [(50,)]


def test_a_visitor_above_the_share_gets_a_polite_line_and_a_phone_an_answer(conversation: ConversationHarness) -> None:
    set_limits(conversation, {"anonymous_share": 0})
    visitor = conversation.create_visitor()
    conversation.send_web(visitor, conversation.find_session(visitor), "Hello")
    conversation.model.script = [text_answer("Never sent.")]
    conversation.run_turn()
    assert conversation.query(
        "SELECT body, degraded FROM messages m JOIN turns t ON t.id = m.turn_id WHERE direction = 'outbound'"
    ) == [(canned_replies.DAILY_CAP_REPLY, True)]
    conversation.send_whatsapp("Hello")
    conversation.model.script = [text_answer("Good morning.")]
    conversation.run_turn()
    assert conversation.query("SELECT count(*) FROM messages WHERE body = 'Good morning.'") == [(1,)]


def test_visitors_of_the_web_never_use_up_the_messages_of_phones(conversation: ConversationHarness) -> None:
    set_limits(conversation, {"binding_per_minute": 3})
    ((binding_id,),) = conversation.query("SELECT id FROM bindings WHERE slug = 'site-desk'")
    assert isinstance(binding_id, UUID)
    for number in range(9):
        limits = message_limits(Limits(binding_per_minute=3), UUID(int=number), binding_id, f"address {number}")
        with conversation.database.transaction(conversation.admin) as tx:
            rate_limits.take(tx, limits, conversation.clock())
    conversation.send_whatsapp("My first message")
    assert len(conversation.turns.sent) == 1
    assert conversation.query("SELECT body FROM messages WHERE kind = 'notice'") == []


def test_a_phone_that_floods_leaves_the_binding_to_others(conversation: ConversationHarness) -> None:
    set_limits(conversation, {"visitor_per_minute": 2, "binding_per_minute": 4})
    for number in range(12):
        conversation.send_whatsapp(f"Flood {number}", f"f{number}", sender="+919800000666")
    conversation.send_whatsapp("My first message", "h1")
    assert len(conversation.turns.sent) == 3


def reserve_for_visitor(
    conversation: ConversationHarness, amount: str, address: str, *, database: Database | None = None
) -> Reservation | None:
    """The reservation of a model call for a visitor of that address; None when it is refused."""
    now = conversation.clock()
    reservation = Reservation(
        id=uuid7(now),
        amount=Decimal(amount),
        purpose="turn",
        default_cap=Decimal(20),
        expires_at=now + timedelta(minutes=5),
        anonymous_share=Decimal("0.2"),
        address=address,
    )
    try:
        spend.reserve_in_transaction(database or conversation.database, conversation.admin, reservation, now)
    except AnonymousShareSpent:
        return None
    return reservation


def spend_as_visitor(conversation: ConversationHarness, amount: str, address: str) -> bool:
    """Whether a call for a visitor of that address is made, which costs that much."""
    reservation = reserve_for_visitor(conversation, amount, address)
    if reservation:
        with conversation.database.transaction(conversation.admin) as tx:
            spend.settle(tx, [reservation.id], reservation.amount, default_cap=Decimal(20), now=conversation.clock())
    return reservation is not None


def test_one_address_spends_a_fifth_of_what_visitors_may(conversation: ConversationHarness) -> None:
    spent = [spend_as_visitor(conversation, "0.02", "one") for _ in range(100)]
    assert spent.count(True) == 40  # 0.80 of 4.00 US dollars
    assert spend_as_visitor(conversation, "0.02", "other")
    assert spend_as_visitor(conversation, "0.02", "")
    assert conversation.query("SELECT address, spent_usd FROM spend_addresses ORDER BY 1") == [
        ("one", Decimal("0.8")),
        ("other", Decimal("0.02")),
    ]


def test_an_office_behind_one_address_is_answered(conversation: ConversationHarness) -> None:
    assert all(spend_as_visitor(conversation, "0.02", "office") for _ in range(30))


def test_a_small_cap_leaves_every_address_a_call(conversation: ConversationHarness) -> None:
    conversation.query("UPDATE tenants SET daily_cap_usd = 1 RETURNING 1")
    assert spend_as_visitor(conversation, "0.1", "one")  # more than the address's part, 0.04 US dollars
    assert not spend_as_visitor(conversation, "0.01", "one")
    assert spend_as_visitor(conversation, "0.1", "other")


def test_calls_of_one_address_at_once_are_counted_one_by_one(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    databases = [open_database() for _ in range(5)]

    def reserve(number: int) -> bool:
        database = databases[number]
        return [reserve_for_visitor(conversation, "0.05", "one", database=database) for _ in range(10)].count(None) == 0

    with ThreadPoolExecutor(5) as threads:
        list(threads.map(reserve, range(5)))
    assert conversation.query("SELECT sum(amount_usd) FROM spend_reservations") == [(Decimal("0.8"),)]
    assert reserve_for_visitor(conversation, "0.05", "other")


def test_an_address_may_spend_again_on_the_next_day(conversation: ConversationHarness) -> None:
    assert spend_as_visitor(conversation, "0.9", "one")
    assert not spend_as_visitor(conversation, "0.01", "one")
    conversation.clock.now += timedelta(days=1)
    assert spend_as_visitor(conversation, "0.01", "one")
    conversation.clock.now += timedelta(days=2)
    assert spend_as_visitor(conversation, "0.01", "one")
    assert conversation.query("SELECT spent_usd FROM spend_addresses") == [(Decimal("0.01"),)]


def test_a_turn_counts_for_the_address_of_its_message(conversation: ConversationHarness) -> None:
    answers = []
    for address in ("one", "one", "other"):
        visitor = conversation.create_visitor()
        message = WebMessage(conversation.find_session(visitor), "Hello", None, address=address)
        receive_web_message(
            visitor, conversation.database, conversation.turns, conversation.wakeups, message, conversation.clock()
        )
        conversation.model.script = [text_answer("Good morning.")]
        conversation.run_turn()
        conversation.query("UPDATE spend_addresses SET spent_usd = 9 RETURNING 1")
        answers.append(conversation.query("SELECT degraded FROM turns ORDER BY id DESC LIMIT 1"))
    assert answers == [[(False,)], [(True,)], [(False,)]]


def test_limits_are_shown_to_viewers_only(conversation: ConversationHarness) -> None:
    stranger = Principal(conversation.tenant_id, "user", uuid7(conversation.clock()))
    with conversation.database.transaction(stranger) as tx, pytest.raises(Forbidden, match="viewer"):
        rate_limits.list_limits(stranger, tx, 10)


class Hung(BaseException):
    """Stands for a worker that neither renews its lease nor ends."""


def hang_worker(conversation: ConversationHarness, wake: SessionWakeup) -> None:
    """Have a worker of 180 seconds begin the session's turn, and hang."""

    def hang() -> None:
        raise Hung

    conversation.model.before_completion, conversation.model.script = hang, [text_answer("Never said.")]
    with pytest.raises(Hung):
        run_session(conversation.make_dependencies(), wake, lambda: 180)
    conversation.model.before_completion, conversation.model.script = (lambda: None), []


def hang_turn(conversation: ConversationHarness) -> SessionWakeup:
    """Have a worker hang at somebody's message; return the wake of its session."""
    conversation.send_whatsapp("First", "m1", sender="+919800000661")
    wake = conversation.list_wakes()[-1]
    hang_worker(conversation, wake)
    return wake


def is_postponed(conversation: ConversationHarness) -> bool:
    """Whether another person's message has to wait; it is answered otherwise."""
    conversation.send_whatsapp("Second", f"m{conversation.clock()}", sender="+919800000662")
    conversation.wakeups.sent.clear()
    conversation.model.script = [text_answer("Now.")]
    conversation.run_turn()
    return any(3 <= seconds <= 8 for _, seconds in conversation.wakeups.sent)


def test_a_tenant_with_many_turns_under_way_waits_without_holding_a_worker(conversation: ConversationHarness) -> None:
    conversation.max_tenant_turns = 1
    busy = hang_turn(conversation)
    asked = len(conversation.model.requests)
    conversation.send_whatsapp("Second", "m2")
    waiting = conversation.list_wakes()[-1]
    conversation.wakeups.sent.clear()
    conversation.run_turn(waiting)
    assert len(conversation.model.requests) == asked
    ((body, seconds),) = conversation.wakeups.sent
    assert (body["kind"], body["id"]) == ("session", str(waiting.session_id))
    assert 3 <= seconds <= 8
    assert conversation.query(f"SELECT count(*) FROM turns WHERE session_id <> '{busy.session_id}'") == [(0,)]
    conversation.clock.now += timedelta(minutes=4)
    conversation.model.script = [text_answer("Now.")]
    conversation.run_turn(waiting)
    assert conversation.query("SELECT body FROM messages WHERE direction = 'outbound'") == [("Now.",)]


@pytest.mark.parametrize(("minutes", "waits"), [(0, True), (1, True), (2.9, True), (3.1, False)])
def test_a_hung_worker_counts_until_its_invocation_is_over(
    conversation: ConversationHarness, minutes: float, waits: bool
) -> None:
    conversation.max_tenant_turns = 1
    hang_turn(conversation)
    conversation.clock.now += timedelta(minutes=minutes)
    assert is_postponed(conversation) is waits


def test_all_workers_that_hang_on_one_message_count(conversation: ConversationHarness) -> None:
    conversation.max_tenant_turns = 2
    wake = hang_turn(conversation)
    assert not is_postponed(conversation)
    conversation.clock.now += timedelta(seconds=20)
    hang_worker(conversation, wake)
    conversation.clock.now += timedelta(seconds=20)
    assert is_postponed(conversation)
    conversation.clock.now += timedelta(seconds=145)
    assert not is_postponed(conversation)


@pytest.mark.parametrize("end", [text_answer("Done."), DatabaseUnavailable(), RuntimeError()])
def test_a_worker_that_reports_its_end_does_not_count(
    conversation: ConversationHarness, end: list[JsonObject] | Exception
) -> None:
    conversation.max_tenant_turns = 1
    conversation.send_whatsapp("First", "m1", sender="+919800000661")
    conversation.model.script = [end]
    with contextlib.suppress(DatabaseUnavailable, RuntimeError):
        conversation.run_turn()
    assert conversation.query("SELECT DISTINCT worker_deadlines FROM sessions") == [({},)]
    assert not is_postponed(conversation)


def test_a_worker_that_lost_its_lease_and_reports_it_does_not_count(conversation: ConversationHarness) -> None:
    conversation.max_tenant_turns = 1
    conversation.send_whatsapp("First", "m1", sender="+919800000661")
    wake = conversation.list_wakes()[-1]

    def lose_lease() -> None:
        conversation.query("UPDATE sessions SET lease_token = lease_token + 1 RETURNING id")

    conversation.model.before_completion = lose_lease
    conversation.model.script = [text_answer("Too late.")]
    conversation.run_turn(wake)
    assert conversation.query("SELECT DISTINCT worker_deadlines FROM sessions") == [({},)]
