"""The outbox on the real database: put once, woken, moved forward and never back, seen by its tenant only."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from parlour.channels import delivery_updates, outbox, store
from parlour.channels.envelope import DeliveryStatus, Envelope
from parlour.infra.errors import MalformedPayload
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.infra.queues import QueueMessage
from tests.integration.channels.conftest import OutboxHarness


class Kept:
    def __init__(self) -> None:
        self.messages: list[QueueMessage] = []

    def send(self, messages: Sequence[QueueMessage], /) -> None:
        self.messages.extend(messages)


SENDER = UUID(int=7)


def sent(outbox_harness: OutboxHarness, *provider_ids: str) -> UUID:
    """A reply whose parts the provider took under those ids."""
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    with outbox_harness.database.transaction(outbox_harness.principal) as tx:
        store.begin_attempt(tx, outbox_id, len(provider_ids), SENDER)
        for number, provider_id in enumerate(provider_ids, 1):
            store.record_part_sent(tx, outbox_id, number, provider_id, SENDER, outbox_harness.now)
    return outbox_id


def told(outbox_harness: OutboxHarness, provider_id: str, status: DeliveryStatus, **metadata: str) -> bool:
    later = outbox_harness.now + timedelta(seconds=9)
    envelope = Envelope(
        "whatsapp", "gupshup", "gupshup:ParlourDemo", "", provider_id, "status", "", None, status, later, {**metadata}
    )
    return delivery_updates.apply_status(outbox_harness.principal, outbox_harness.database, envelope, later)


def test_a_reply_is_put_once_and_waits(outbox_harness: OutboxHarness) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    with outbox_harness.database.transaction(outbox_harness.principal) as tx:
        outbox_harness.enqueue(tx, outbox_id)
        waiting = outbox.list_pending(tx, session_id=outbox_harness.session_id)

    assert waiting == [outbox.PendingReply(outbox_id, outbox_harness.session_id, 0)]
    assert outbox_harness.find_delivery(outbox_id).state == "pending"


def test_a_reply_that_left_no_longer_waits(outbox_harness: OutboxHarness) -> None:
    sent(outbox_harness, "gs-1")
    with outbox_harness.database.transaction(outbox_harness.principal) as tx:
        assert outbox.list_pending(tx, session_id=outbox_harness.session_id) == []


def test_a_wake_up_names_the_row_and_a_repeated_one_is_no_duplicate(now: datetime) -> None:
    queue = Kept()
    tenant_id, session_id, outbox_id = uuid7(now), uuid7(now), uuid7(now)

    outbox.send_wakeup(queue, tenant_id, session_id, outbox_id)
    outbox.send_wakeup(queue, tenant_id, session_id, outbox_id, 2)

    assert [outbox.parse_wakeup(message.body) for message in queue.messages] == [(tenant_id, outbox_id)] * 2
    assert {message.group_id for message in queue.messages} == {str(session_id)}
    assert [message.deduplication_id for message in queue.messages] == [str(outbox_id), f"{outbox_id}:2"]


@pytest.mark.parametrize("body", [{}, {"tenant_id": "x", "outbox_id": "y"}, {"tenant_id": None, "outbox_id": []}])
def test_another_body_is_no_wake_up(body: dict[str, None]) -> None:
    with pytest.raises(MalformedPayload):
        outbox.parse_wakeup({**body})


NEWS: list[tuple[list[DeliveryStatus], str]] = [
    (["enqueued", "sent"], "sent"),
    (["sent", "delivered", "read"], "read"),
    (["read", "delivered", "sent", "enqueued"], "read"),
    (["delivered", "sent"], "delivered"),
    (["enqueued", "failed"], "failed"),
    (["failed", "sent"], "failed"),
    (["failed", "delivered"], "delivered"),
    (["delivered", "failed"], "delivered"),
    (["read", "failed"], "read"),
]


def test_news_in_any_order_move_a_reply_forward_only(outbox_harness: OutboxHarness) -> None:
    for number, (news, state) in enumerate(NEWS):
        outbox_id = sent(outbox_harness, f"gs-{number}")
        for status in news:
            told(outbox_harness, f"gs-{number}", status)

        assert (news, outbox_harness.find_delivery(outbox_id).state) == (news, state)


def test_only_what_changes_something_is_reported_as_a_change(outbox_harness: OutboxHarness) -> None:
    outbox_id = sent(outbox_harness, "gs-1")

    assert told(outbox_harness, "gs-1", "delivered")
    assert not told(outbox_harness, "gs-1", "delivered")
    assert not told(outbox_harness, "gs-1", "sent")
    assert not told(outbox_harness, "of-somebody-else", "read")
    assert outbox_harness.find_delivery(outbox_id).status_at == outbox_harness.now + timedelta(seconds=9)


def test_a_failure_says_why_until_it_turns_out_delivered(outbox_harness: OutboxHarness) -> None:
    outbox_id = sent(outbox_harness, "gs-1")

    told(outbox_harness, "gs-1", "failed", code="1002", reason="no such number")
    assert outbox_harness.find_delivery(outbox_id).problem == "1002: no such number"
    told(outbox_harness, "gs-1", "delivered")
    assert outbox_harness.find_delivery(outbox_id).problem is None


def test_a_reply_in_parts_is_where_its_last_part_is_and_fails_with_any(outbox_harness: OutboxHarness) -> None:
    outbox_id = sent(outbox_harness, "gs-1", "gs-2")

    assert not told(outbox_harness, "gs-1", "read")
    assert outbox_harness.find_delivery(outbox_id).state == "sent"
    assert told(outbox_harness, "gs-2", "delivered")
    assert outbox_harness.find_delivery(outbox_id).state == "delivered"

    other = sent(outbox_harness, "gs-3", "gs-4")
    assert told(outbox_harness, "gs-3", "failed")
    assert outbox_harness.find_delivery(other).state == "failed"


def test_another_tenant_sees_and_moves_nothing(open_outbox_harness: Callable[[], OutboxHarness]) -> None:
    ours, theirs = open_outbox_harness(), open_outbox_harness()
    outbox_id = sent(ours, "gs-1")
    with ours.database.transaction(ours.principal) as tx:
        row = store.lock_reply(tx, outbox_id)
    assert row

    assert not told(theirs, "gs-1", "read")
    with theirs.database.transaction(theirs.principal) as tx:
        assert store.lock_reply(tx, outbox_id) is None
        assert outbox.list_pending(tx, session_id=ours.session_id) == []
        store.record_part_sent(tx, outbox_id, 2, "gs-of-theirs", SENDER, theirs.now)
        store.end_attempt(tx, row, "failed", "not theirs to fail", SENDER, 0, theirs.now)
    assert ours.find_delivery(outbox_id).state == "sent"


def test_statuses_find_their_reply_by_an_index(outbox_harness: OutboxHarness, database: Database) -> None:
    query = store.SQL["apply_update"].sql.replace("%(state)s", "'read'").replace("%(problem)s", "NULL")
    query = query.replace("%(now)s", "'2026-03-02'").replace("%(movable)s", "'{sent}'")
    with database.transaction(outbox_harness.principal) as tx:
        tx._connection.execute("SET LOCAL enable_seqscan = off")
        plan = tx._connection.execute(("EXPLAIN " + query.replace("%(provider_message_id)s", "'gs-1'")).encode())

        assert "outbox_parts_provider" in "\n".join(line for (line,) in plan.fetchall())
