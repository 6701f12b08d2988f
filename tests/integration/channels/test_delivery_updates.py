"""What the provider's news do for sends: settle the unknown, wait for the late, hold what no window takes."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest

from parlour.channels import delivery_updates, outbox, store
from parlour.channels.envelope import DeliveryStatus, Envelope
from parlour.channels.send import SendResult, send_reply
from parlour.channels.templates import FilledTemplate
from parlour.infra.errors import (
    Conflict,
    DeliveryUnknown,
    Forbidden,
    NotFound,
    ProviderRejected,
    QueueUnavailable,
    WindowClosed,
)
from parlour.infra.ids import uuid7
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.queues import QueueMessage
from parlour.principal import Principal
from tests.integration.channels.conftest import WHATSAPP, OutboxHarness
from tests.integration.channels.test_send import LONG, Killed, Phone, phone, sending

__all__ = ["phone"]

CLOUD: JsonObject = {"provider": "whatsapp_cloud", "phone_number_id": "106540352242922", "api_key": "gupshup"}


def told(
    outbox_harness: OutboxHarness,
    provider_id: str,
    status: DeliveryStatus,
    wake: Callable[[QueueMessage], object] = lambda _: None,
    **metadata: str,
) -> bool:
    later = outbox_harness.now + timedelta(seconds=9)
    envelope = Envelope(
        "whatsapp", "whatsapp_cloud", "whatsapp:1", "", provider_id, "status", "", None, status, later, {**metadata}
    )
    return delivery_updates.apply_status(outbox_harness.principal, outbox_harness.database, envelope, later, wake)


def unknown(outbox_harness: OutboxHarness, phone: Phone, text: str = "Poured on Tuesday.") -> UUID:
    outbox_harness.set_channels({"whatsapp": CLOUD})
    outbox_id = outbox_harness.add_reply(text)
    phone.trouble = {phone.asked: DeliveryUnknown()}
    assert sending(outbox_harness, phone, outbox_id).state == "unknown"
    return outbox_id


def admin(outbox_harness: OutboxHarness, role: str = "admin") -> Principal:
    return Principal(outbox_harness.principal.tenant_id, "member", outbox_harness.session_id, frozenset({role}), 3)


def inbox_due(outbox_harness: OutboxHarness) -> list[tuple[object, ...]]:
    return outbox_harness.query("SELECT id FROM work_due WHERE kind = 'inbox'")


def due(outbox_harness: OutboxHarness) -> list[tuple[object, ...]]:
    return outbox_harness.query("SELECT id FROM work_due WHERE kind = 'outbox'")


@pytest.mark.parametrize("status", ["sent", "delivered", "read"])
def test_a_callback_settles_a_send_whose_id_nobody_ever_learnt(
    outbox_harness: OutboxHarness, phone: Phone, status: DeliveryStatus
) -> None:
    outbox_id = unknown(outbox_harness, phone)

    assert told(outbox_harness, "wamid.7", status, callback=f"{outbox_id}:1")
    assert outbox_harness.find_delivery(outbox_id).state == status
    assert sending(outbox_harness, phone, outbox_id).state == status
    assert (phone.asked, due(outbox_harness)) == (1, [])
    assert told(outbox_harness, "wamid.7", "read") is (status != "read")
    assert outbox_harness.find_delivery(outbox_id).state == "read"


def test_a_callback_settles_the_row_of_a_sender_that_died(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_harness.set_channels({"whatsapp": CLOUD})
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    phone.trouble = {0: Killed()}
    with pytest.raises(Killed):
        sending(outbox_harness, phone, outbox_id)

    assert told(outbox_harness, "wamid.7", "delivered", callback=f"{outbox_id}:1")
    assert sending(outbox_harness, phone, outbox_id) == SendResult("delivered", 1)
    assert (phone.asked, due(outbox_harness)) == (1, [])


def test_a_callback_that_says_failed_settles_it_so(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = unknown(outbox_harness, phone)

    assert told(outbox_harness, "wamid.7", "failed", callback=f"{outbox_id}:1", code="131026", reason="undeliverable")
    assert (outbox_harness.find_delivery(outbox_id).state, outbox_harness.find_delivery(outbox_id).problem) == (
        "failed",
        "131026: undeliverable",
    )


def test_after_an_early_part_is_confirmed_the_rest_is_sent_once(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = unknown(outbox_harness, phone, LONG)

    assert told(outbox_harness, "wamid.7", "sent", callback=f"{outbox_id}:1")
    assert (outbox_harness.find_delivery(outbox_id).state, due(outbox_harness)) == ("pending", [(outbox_id,)])
    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 3)
    assert [outgoing.callback_data for outgoing in phone.received] == [f"{outbox_id}:2", f"{outbox_id}:3"]


def test_whoever_confirms_an_early_part_wakes_the_sender_of_the_rest(
    outbox_harness: OutboxHarness, phone: Phone
) -> None:
    """Where the database is to pause, the sweep comes once a day only."""
    outbox_id = unknown(outbox_harness, phone, LONG)
    woken: list[QueueMessage] = []

    def away(_: QueueMessage) -> None:
        raise QueueUnavailable

    with pytest.raises(QueueUnavailable):
        told(outbox_harness, "wamid.7", "sent", away, callback=f"{outbox_id}:1")
    for _ in range(2):  # the envelope comes again, and again: the queue takes one of two alike
        assert not told(outbox_harness, "wamid.7", "sent", woken.append, callback=f"{outbox_id}:1")
    assert {message.deduplication_id for message in woken} == {f"{outbox_id}:confirmed:1"}
    assert outbox.parse_wakeup(woken[0].body) == (outbox_harness.principal.tenant_id, outbox_id)
    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 3)
    told(outbox_harness, "wamid.7", "delivered", woken.append, callback=f"{outbox_id}:1")
    assert len(woken) == 2


def test_a_part_confirmed_while_its_sender_is_at_it_wakes_nobody(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_harness.set_channels({"whatsapp": CLOUD})
    outbox_id = outbox_harness.add_reply(LONG)
    woken: list[QueueMessage] = []

    def meanwhile() -> None:
        told(outbox_harness, "wamid.7", "sent", woken.append, callback=f"{outbox_id}:1")

    phone.on_asked = meanwhile
    sending(outbox_harness, phone, outbox_id)
    assert woken == []


def test_a_sender_that_comes_back_after_the_rest_was_sent_sends_nothing(
    outbox_harness: OutboxHarness, phone: Phone
) -> None:
    outbox_harness.set_channels({"whatsapp": CLOUD})
    outbox_id = outbox_harness.add_reply(LONG)
    other = Phone()

    def meanwhile() -> None:
        phone.on_asked = lambda: None
        assert sending(outbox_harness, other, outbox_id).state == "unknown"
        assert told(outbox_harness, "wamid.7", "sent", callback=f"{outbox_id}:1")
        assert sending(outbox_harness, other, outbox_id).state == "sent"

    phone.on_asked = meanwhile
    assert sending(outbox_harness, phone, outbox_id).state == "taken_over"
    assert (len(phone.received), len(other.received)) == (1, 2)


@pytest.mark.parametrize("trouble", [{}, {0: ProviderRejected()}, {0: DeliveryUnknown()}])
def test_a_sender_that_comes_back_while_another_is_at_it_changes_nothing(
    outbox_harness: OutboxHarness, phone: Phone, trouble: dict[int, BaseException]
) -> None:
    outbox_id = outbox_harness.add_reply(LONG)
    other = Phone(trouble={0: Killed()})

    def meanwhile() -> None:
        assert sending(outbox_harness, other, outbox_id).state == "unknown"
        with outbox_harness.database.transaction(outbox_harness.principal) as tx:
            assert outbox.resolve_reply(admin(outbox_harness), tx, outbox_id, "send_again", outbox_harness.now)
        with pytest.raises(Killed):
            sending(outbox_harness, other, outbox_id)

    phone.on_asked, phone.trouble = meanwhile, trouble
    assert sending(outbox_harness, phone, outbox_id).state == "taken_over"
    assert outbox_harness.query("SELECT state, parts_sent FROM outbox") == [("sending", 0)]
    assert len(due(outbox_harness)) == 1


def test_bad_news_of_the_first_try_do_not_swallow_the_one_that_somebody_ordered_since(
    outbox_harness: OutboxHarness, phone: Phone
) -> None:
    outbox_harness.set_channels({"whatsapp": CLOUD})
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    assert sending(outbox_harness, Phone(trouble={0: DeliveryUnknown()}), outbox_id).state == "unknown"
    with outbox_harness.database.transaction(outbox_harness.principal) as tx:
        assert outbox.resolve_reply(admin(outbox_harness), tx, outbox_id, "send_again", outbox_harness.now)

    told(outbox_harness, "wamid.first", "failed", callback=f"{outbox_id}:1")
    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 1)
    assert len(phone.received) == 1
    assert outbox_harness.find_delivery(outbox_id).state == "sent"


def test_a_callback_while_the_sender_still_waits_for_its_answer(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_harness.set_channels({"whatsapp": CLOUD})
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")

    def overtake() -> None:
        told(outbox_harness, "wamid.7", "delivered", callback=f"{outbox_id}:1")

    phone.on_asked = overtake
    phone.trouble = {0: DeliveryUnknown()}

    assert sending(outbox_harness, phone, outbox_id).state == "taken_over"
    assert outbox_harness.find_delivery(outbox_id).state == "delivered"


@pytest.mark.parametrize("callback", ["", "x", "x:1", ":", "{}:0", "{}:-1", "{}:2", "{}:99999", "{}"])
def test_another_callback_settles_nothing(outbox_harness: OutboxHarness, phone: Phone, callback: str) -> None:
    outbox_id = unknown(outbox_harness, phone)

    assert not told(outbox_harness, "wamid.7", "delivered", callback=callback.format(outbox_id))
    assert outbox_harness.find_delivery(outbox_id).state == "unknown"
    assert outbox_harness.query("SELECT count(*) FROM outbox_parts") == [(0,)]


def test_news_that_overtake_the_commit_wait_for_it_and_are_gone_then(
    outbox_harness: OutboxHarness, phone: Phone
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")

    def overtake() -> None:
        told(outbox_harness, "gs-1", "read")
        told(outbox_harness, "gs-1", "delivered")

    phone.on_asked = overtake

    assert sending(outbox_harness, phone, outbox_id).state == "sent"
    assert outbox_harness.find_delivery(outbox_id).state == "read"
    assert outbox_harness.query("SELECT * FROM pending_delivery_updates") == []


def test_news_of_nobodys_message_are_not_kept(outbox_harness: OutboxHarness, phone: Phone) -> None:
    assert not told(outbox_harness, "of-another-tool", "delivered")
    assert outbox_harness.query("SELECT * FROM pending_delivery_updates") == []


def test_a_day_after_the_user_wrote_a_reply_is_held(
    outbox_harness: OutboxHarness, phone: Phone, capsys: pytest.CaptureFixture[str]
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    late = outbox_harness.now + timedelta(hours=24)

    assert sending(outbox_harness, phone, outbox_id, late) == SendResult("held", 0)
    assert (phone.asked, due(outbox_harness)) == (0, [])
    assert "HeldReply" in capsys.readouterr().out
    outbox_harness.add_inbound(late, "tool_result")
    with outbox_harness.database.transaction(outbox_harness.principal) as tx:
        assert outbox.resolve_reply(admin(outbox_harness), tx, outbox_id, "send_again", late)
    assert sending(outbox_harness, phone, outbox_id, late) == SendResult("held", 0)
    outbox_harness.add_inbound(late)
    with outbox_harness.database.transaction(outbox_harness.principal) as tx:
        assert outbox.resolve_reply(admin(outbox_harness), tx, outbox_id, "send_again", late)
    assert sending(outbox_harness, phone, outbox_id, late) == SendResult("sent", 1)


@pytest.mark.parametrize(
    ("settings", "approved", "name", "language"),
    [
        (WHATSAPP, {"name": "update", "id": "3b9b-65", "text": "News: {{1}}"}, "3b9b-65", ""),
        (CLOUD, {"name": "update", "language": "en", "text": "News: {{1}}"}, "update", "en"),
    ],
)
def test_with_a_template_it_goes_as_the_templates_value(
    outbox_harness: OutboxHarness, phone: Phone, settings: JsonObject, approved: JsonObject, name: str, language: str
) -> None:
    given: list[Json] = [{**approved, "purpose": "reply"}]
    outbox_harness.set_channels({"whatsapp": {**settings, "templates": given}})
    outbox_id, long = outbox_harness.add_reply("Poured.\n\n- on *Tuesday*"), outbox_harness.add_reply("word " * 400)
    late = outbox_harness.now + timedelta(days=3)

    assert sending(outbox_harness, phone, outbox_id, late) == SendResult("sent", 1)
    filled = FilledTemplate(name, language, "News: Poured. • on _Tuesday_", [("1", "Poured. • on _Tuesday_")])
    assert [one.template for one in phone.received] == [filled]
    assert sending(outbox_harness, phone, long, late) == SendResult("held", 0)


def test_the_inbox_looks_at_a_reply_that_a_status_holds(outbox_harness: OutboxHarness, phone: Phone) -> None:
    reply = outbox_harness.add_reply("Poured on Tuesday.")
    assert sending(outbox_harness, phone, reply).state == "sent"
    assert inbox_due(outbox_harness) == []
    assert told(outbox_harness, "gs-1", "failed", code="131047", reason="too late")
    assert outbox_harness.find_delivery(reply).state == "held"
    assert inbox_due(outbox_harness) == [(outbox_harness.session_id,)]


@pytest.mark.parametrize("names_part", [True, False])
def test_the_inbox_looks_at_an_unknown_reply_that_was_delivered(
    outbox_harness: OutboxHarness, phone: Phone, names_part: bool
) -> None:
    outbox_id = unknown(outbox_harness, phone)
    assert inbox_due(outbox_harness) == []
    if not names_part:  # the row was given up after its part was sent
        outbox_harness.query(
            "INSERT INTO outbox_parts (tenant_id, outbox_id, number, provider_message_id, sent_at) "
            f"VALUES (current_tenant(), '{outbox_id}', 1, 'wamid.7', now()) RETURNING 1"
        )
    assert told(outbox_harness, "wamid.7", "delivered", callback=f"{outbox_id}:1" if names_part else "")
    assert outbox_harness.find_delivery(outbox_id).state == "delivered"
    assert inbox_due(outbox_harness) == [(outbox_harness.session_id,)]


def test_the_inbox_looks_at_an_unknown_reply_whose_sender_comes_back(
    outbox_harness: OutboxHarness, phone: Phone
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")

    def meanwhile() -> None:
        assert sending(outbox_harness, Phone(), outbox_id).state == "unknown"
        assert inbox_due(outbox_harness) == []

    phone.on_asked = meanwhile
    assert sending(outbox_harness, phone, outbox_id).state == "sent"
    assert inbox_due(outbox_harness) == [(outbox_harness.session_id,)]


@pytest.mark.parametrize("code", ["470", "131047", "1004", "1008"])
def test_a_refusal_outside_the_window_holds_it_at_once_or_later(
    outbox_harness: OutboxHarness, phone: Phone, code: str
) -> None:
    at_once, later = outbox_harness.add_reply("first"), outbox_harness.add_reply("second")
    phone.trouble = {0: WindowClosed()}

    assert sending(outbox_harness, phone, at_once).state == "held"
    assert sending(outbox_harness, phone, later).state == "sent"
    assert told(outbox_harness, "gs-1", "failed", code=code, reason="too late")
    assert outbox_harness.find_delivery(later).state == "held"
    with outbox_harness.database.transaction(outbox_harness.principal) as tx:
        assert outbox.resolve_reply(admin(outbox_harness), tx, later, "send_again", outbox_harness.now)
    assert sending(outbox_harness, phone, later) == SendResult("sent", 1)


class TestAPerson:
    """What needs a person, and what they decide."""

    def resolve(
        self, outbox_harness: OutboxHarness, outbox_id: UUID, how: outbox.Resolution
    ) -> outbox.PendingReply | None:
        with outbox_harness.database.transaction(outbox_harness.principal) as tx:
            return outbox.resolve_reply(admin(outbox_harness), tx, outbox_id, how, outbox_harness.now)

    def test_a_viewer_sees_it_and_an_administrator_decides(self, outbox_harness: OutboxHarness, phone: Phone) -> None:
        outbox_id = unknown(outbox_harness, phone)
        with outbox_harness.database.transaction(outbox_harness.principal) as tx:
            [stuck] = outbox.list_needing_decision(admin(outbox_harness, "viewer"), tx, 5)
            with pytest.raises(Forbidden):
                outbox.list_needing_decision(admin(outbox_harness, ""), tx, 5)
            with pytest.raises(Forbidden):
                outbox.resolve_reply(admin(outbox_harness, "viewer"), tx, outbox_id, "arrived", outbox_harness.now)
        assert (stuck.id, stuck.state, stuck.text) == (outbox_id, "unknown", "Poured on Tuesday.")

    def test_it_arrived(self, outbox_harness: OutboxHarness, phone: Phone) -> None:
        outbox_id = unknown(outbox_harness, phone)
        assert self.resolve(outbox_harness, outbox_id, "arrived") is None
        assert outbox_harness.find_delivery(outbox_id).state == "sent"
        with pytest.raises(Conflict):
            self.resolve(outbox_harness, outbox_id, "send_again")

    def test_the_part_in_doubt_arrived_and_the_rest_is_sent(self, outbox_harness: OutboxHarness, phone: Phone) -> None:
        outbox_id = unknown(outbox_harness, phone, LONG)
        assert self.resolve(outbox_harness, outbox_id, "arrived") == outbox.PendingReply(
            outbox_id, outbox_harness.session_id, 1
        )
        assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 3)
        assert len(phone.received) == 2

    def test_it_did_not_and_is_sent_again(self, outbox_harness: OutboxHarness, phone: Phone) -> None:
        outbox_id = unknown(outbox_harness, phone)
        assert self.resolve(outbox_harness, outbox_id, "send_again") == outbox.PendingReply(
            outbox_id, outbox_harness.session_id, 1
        )
        assert due(outbox_harness) == [(outbox_id,)]
        assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 1)
        assert due(outbox_harness) == []

    def test_it_is_let_be(self, outbox_harness: OutboxHarness, phone: Phone) -> None:
        outbox_id = unknown(outbox_harness, phone)
        assert self.resolve(outbox_harness, outbox_id, "dismiss") is None
        assert outbox_harness.find_delivery(outbox_id).state == "failed"

    def test_a_held_one_did_not_arrive(self, outbox_harness: OutboxHarness, phone: Phone) -> None:
        outbox_id = outbox_harness.add_reply("late")
        sending(outbox_harness, phone, outbox_id, outbox_harness.now + timedelta(days=2))
        with pytest.raises(Conflict, match="held"):
            self.resolve(outbox_harness, outbox_id, "arrived")
        with pytest.raises(NotFound):
            self.resolve(outbox_harness, outbox_harness.session_id, "arrived")


def test_beginning_whose_answer_was_lost_is_found_again_and_sent(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id, sender = outbox_harness.add_reply("Poured on Tuesday."), uuid7(outbox_harness.now)
    with outbox_harness.database.transaction(outbox_harness.principal) as tx:
        store.begin_attempt(tx, outbox_id, 1, sender)

    assert send_reply(
        outbox_harness.principal,
        outbox_harness.database,
        {"gupshup": phone},
        outbox_id,
        sender,
        outbox_harness.now,
        lambda: 60.0,
    ) == SendResult("sent", 1)
