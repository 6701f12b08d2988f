"""Sending on the real database: once, or known to be unknown; what every ending leaves behind."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from parlour.channels import outbox, store
from parlour.channels.buttons import Button
from parlour.channels.outbox import WaitingReply
from parlour.channels.send import MAX_ATTEMPTS, MAX_BLOCKED_TIME, OutgoingMessage, SendResult, send_reply
from parlour.infra.errors import (
    DatabaseUnavailable,
    DeliveryUnknown,
    LeaseHeld,
    Misconfigured,
    MissingSecret,
    ParlourError,
    ProviderRejected,
    ProviderUnavailable,
    SecretUnavailable,
)
from parlour.infra.ids import uuid7
from parlour.infra.json_values import Json
from parlour.infra.postgres import Connection, Database
from parlour.infra.queries import Query
from parlour.jobs import renewal, work_due
from parlour.jobs.renewal import VISIBILITY_SECONDS
from tests.integration.channels.conftest import RECIPIENT, WHATSAPP, OutboxHarness

SENDER = UUID(int=7)


class Killed(BaseException):
    """The sandbox is gone: nothing after it runs."""


@dataclass
class Phone:
    """A provider that takes messages, except where `trouble` says otherwise (by how many it was asked before)."""

    received: list[OutgoingMessage] = field(default_factory=list)
    asked: int = 0
    trouble: dict[int, BaseException] = field(default_factory=dict)
    on_asked: Callable[[], None] = lambda: None

    def deliver(self, outgoing: OutgoingMessage, /) -> str:
        self.asked += 1
        self.on_asked()
        if self.asked - 1 in self.trouble:
            raise self.trouble[self.asked - 1]
        self.received.append(outgoing)
        return f"gs-{len(self.received)}"


@pytest.fixture
def phone() -> Phone:
    return Phone()


def sending(outbox_harness: OutboxHarness, phone: Phone, outbox_id: UUID, now: datetime | None = None) -> SendResult:
    providers = {"gupshup": phone, "whatsapp_cloud": phone}
    return send_reply(
        outbox_harness.principal,
        outbox_harness.database,
        providers,
        outbox_id,
        uuid7(outbox_harness.now),
        now or outbox_harness.now,
        lambda: 60.0,
    )


LONG = "\n\n".join(f"Paragraph {number} of this very long answer. " * 26 for number in range(9))


def test_a_reply_is_formatted_addressed_sent_and_remembered(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = outbox_harness.add_reply("Poured on **Tuesday**. [1]", [(1, "Site report", "page 3")])

    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 1)
    text = "Poured on *Tuesday*. [1]\n\nSources:\n[1] Site report, page 3"
    app, source = "ParlourDemo", "+917834811114"
    assert phone.received == [
        OutgoingMessage(RECIPIENT, text, "parlour/gupshup", app, source, callback_data=f"{outbox_id}:1")
    ]
    delivery = outbox_harness.find_delivery(outbox_id)
    assert (delivery.state, delivery.attempts, delivery.part_count, delivery.parts_sent) == ("sent", 1, 1, 1)
    assert delivery.sent_at == outbox_harness.now


def test_a_wake_up_that_comes_again_sends_nothing_again(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")

    assert [sending(outbox_harness, phone, outbox_id) for _ in range(3)] == [SendResult("sent", 1)] * 3
    assert len(phone.received) == 1


def test_a_long_reply_goes_out_in_order_and_in_parts(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = outbox_harness.add_reply(LONG)

    sent = sending(outbox_harness, phone, outbox_id)
    assert sent == SendResult("sent", len(phone.received))
    assert sent.parts_sent == 3
    assert "\n\n".join(outgoing.text for outgoing in phone.received).split() == LONG.split()


def test_the_row_is_sending_and_committed_while_the_provider_is_called(
    outbox_harness: OutboxHarness, phone: Phone, open_database: Callable[[], Database]
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    seen: list[str] = []

    def look() -> None:
        with open_database().transaction(outbox_harness.principal) as tx:
            seen.append(str(tx.value(Query("test.state", "-", "SELECT state FROM outbox"))))

    phone.on_asked = look
    sending(outbox_harness, phone, outbox_id)

    assert seen == ["sending"]


def test_a_sender_that_died_in_the_middle_makes_the_reply_unknown_and_nobody_sends_it_again(
    outbox_harness: OutboxHarness, phone: Phone, capsys: pytest.CaptureFixture[str]
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    phone.trouble = {0: Killed()}
    with pytest.raises(Killed):
        sending(outbox_harness, phone, outbox_id)

    with pytest.raises(LeaseHeld):  # it may be alive
        sending(outbox_harness, phone, outbox_id, outbox_harness.now + timedelta(seconds=1))
    later = outbox_harness.now + timedelta(seconds=VISIBILITY_SECONDS)
    assert [sending(outbox_harness, phone, outbox_id, later) for _ in range(2)] == [SendResult("unknown", 0)] * 2
    assert phone.asked == 1
    assert capsys.readouterr().out.count("UnknownSend") >= 1


def test_a_sender_that_died_between_parts_never_repeats_one(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = outbox_harness.add_reply(LONG)
    phone.trouble = {1: Killed()}
    with pytest.raises(Killed):
        sending(outbox_harness, phone, outbox_id)

    later = outbox_harness.now + timedelta(seconds=VISIBILITY_SECONDS)
    assert sending(outbox_harness, phone, outbox_id, later) == SendResult("unknown", 1)
    assert len(phone.received) == 1


def test_a_stalled_sender_that_wakes_up_late_brings_the_proof(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    other, states = Phone(), list[SendResult]()
    later = outbox_harness.now + timedelta(seconds=VISIBILITY_SECONDS)
    phone.on_asked = lambda: states.append(sending(outbox_harness, other, outbox_id, later))

    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 1)
    assert (other.asked, states) == (0, [SendResult("unknown", 0)])
    assert outbox_harness.find_delivery(outbox_id).state == "sent"


def test_a_slow_sender_is_left_alone_for_as_long_as_it_lives(
    outbox_harness: OutboxHarness,
    phone: Phone,
    monkeypatch: pytest.MonkeyPatch,
    open_database: Callable[[], Database],
) -> None:
    monkeypatch.setattr(renewal, "RENEWAL_SECONDS", 0.01)
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    begun, second_phone = outbox_harness.now, Phone()
    first_end = begun + timedelta(seconds=3)

    def find_lease_end() -> datetime:
        with open_database().transaction(outbox_harness.principal) as tx:
            return work_due.find_lease_end(tx, "outbox", outbox_id) or begun

    def send_again_after_a_renewal() -> None:
        deadline = time.monotonic() + 10
        while find_lease_end() <= first_end and time.monotonic() < deadline:
            time.sleep(0.01)
        with pytest.raises(LeaseHeld):
            sending(outbox_harness, second_phone, outbox_id, first_end)

    phone.on_asked = send_again_after_a_renewal
    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 1)
    assert second_phone.asked == 0


def test_a_busy_provider_leaves_the_reply_pending_and_the_next_try_sends_it(
    outbox_harness: OutboxHarness, phone: Phone
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    phone.trouble = {0: ProviderUnavailable("Gupshup answered 503", retry_after=7)}

    with pytest.raises(ProviderUnavailable) as caught:
        sending(outbox_harness, phone, outbox_id)
    assert caught.value.retry_after == 7
    assert outbox_harness.find_delivery(outbox_id).state == "pending"
    assert outbox_harness.find_delivery(outbox_id).problem == "provider_unavailable: Gupshup answered 503"

    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 1)
    assert (outbox_harness.find_delivery(outbox_id).attempts, outbox_harness.find_delivery(outbox_id).problem) == (
        2,
        None,
    )


def test_the_next_try_goes_on_with_the_first_part_that_was_not_taken(
    outbox_harness: OutboxHarness, phone: Phone
) -> None:
    outbox_id = outbox_harness.add_reply(LONG)
    phone.trouble = {1: ProviderUnavailable()}
    with pytest.raises(ProviderUnavailable):
        sending(outbox_harness, phone, outbox_id)

    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 3)
    texts = [outgoing.text for outgoing in phone.received]
    assert len(set(texts)) == len(texts) == 3


def test_a_provider_that_never_takes_it_ends_as_a_counted_failure(
    outbox_harness: OutboxHarness, phone: Phone, capsys: pytest.CaptureFixture[str]
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    phone.trouble = {number: ProviderUnavailable() for number in range(100)}
    for _ in range(MAX_ATTEMPTS - 1):
        with pytest.raises(ProviderUnavailable):
            sending(outbox_harness, phone, outbox_id)

    assert sending(outbox_harness, phone, outbox_id) == SendResult("failed", 0)
    assert sending(outbox_harness, phone, outbox_id) == SendResult("failed", 0)
    assert phone.asked == MAX_ATTEMPTS
    assert capsys.readouterr().out.count("FailedSend") >= 1


@pytest.mark.parametrize(
    ("problem", "state"), [(ProviderRejected("Invalid Destination"), "failed"), (DeliveryUnknown(), "unknown")]
)
def test_a_refusal_and_a_lost_answer_are_final(
    outbox_harness: OutboxHarness, phone: Phone, problem: ParlourError, state: str
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    phone.trouble = {0: problem}

    assert [sending(outbox_harness, phone, outbox_id) for _ in range(2)] == [SendResult(state, 0)] * 2
    assert phone.asked == 1
    assert outbox_harness.find_delivery(outbox_id).problem == f"{problem.code}: {problem}"


def test_a_key_that_cannot_be_read_leaves_the_reply_pending(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    phone.trouble = {0: SecretUnavailable()}

    with pytest.raises(SecretUnavailable):
        sending(outbox_harness, phone, outbox_id)
    assert outbox_harness.find_delivery(outbox_id).state == "pending"
    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 1)


REFUSED = Misconfigured("Meta answered 401: 190 the token has expired")


def test_a_refused_key_takes_no_try_away_and_the_reply_is_due_later_each_time(
    outbox_harness: OutboxHarness, phone: Phone, capsys: pytest.CaptureFixture[str]
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    phone.trouble = dict.fromkeys(range(2 * MAX_ATTEMPTS), REFUSED)
    now, pauses = outbox_harness.now, list[float]()
    for _ in range(2 * MAX_ATTEMPTS):
        sent = sending(outbox_harness, phone, outbox_id, now)
        assert sent.retry_at
        assert outbox_harness.query("SELECT due_at FROM work_due WHERE kind = 'outbox'") == [(sent.retry_at,)]
        pauses.append((sent.retry_at - now).total_seconds() / 60)
        now = sent.retry_at

    delivery = outbox_harness.find_delivery(outbox_id)
    assert (delivery.state, delivery.attempts, delivery.problem) == ("pending", 0, f"misconfigured: {REFUSED}")
    assert pauses[:6] == [5, 5, 10, 20, 40, 60]
    assert capsys.readouterr().out.count("RefusedAccess") >= 1
    phone.trouble = {phone.asked: ProviderUnavailable()}
    with pytest.raises(ProviderUnavailable):
        sending(outbox_harness, phone, outbox_id, now)
    assert sending(outbox_harness, phone, outbox_id, now) == SendResult("sent", 1)


def test_a_key_that_nobody_mends_for_a_day_fails_the_reply_and_says_why(
    outbox_harness: OutboxHarness, phone: Phone
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    later = outbox_harness.now + MAX_BLOCKED_TIME
    outbox_harness.add_inbound(later)
    phone.trouble = {0: REFUSED, 1: REFUSED}

    assert sending(outbox_harness, phone, outbox_id, later - timedelta(seconds=1)).state == "pending"
    assert sending(outbox_harness, phone, outbox_id, later) == SendResult("failed", 0)
    assert outbox_harness.find_delivery(outbox_id).problem == f"misconfigured: {REFUSED}"
    assert outbox_harness.query("SELECT id FROM work_due WHERE kind = 'outbox'") == []


def test_a_key_that_is_refused_between_parts_takes_no_part_back(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = outbox_harness.add_reply(LONG)
    phone.trouble = {1: REFUSED}

    assert sending(outbox_harness, phone, outbox_id).parts_sent == 1
    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 3)
    assert len(phone.received) == 3


def test_send_with_an_incomplete_binding_for_a_day_fails(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    outbox_harness.set_channels({})

    assert sending(outbox_harness, phone, outbox_id, outbox_harness.now + MAX_BLOCKED_TIME) == SendResult("failed", 0)
    assert outbox_harness.query("SELECT id FROM work_due WHERE kind = 'outbox'") == []


def test_waiting_reply_is_listed_until_it_is_sent(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    viewer = replace(outbox_harness.principal, kind="member", roles=frozenset({"viewer"}), clearance=3)

    def list_waiting(seconds: int) -> list[WaitingReply]:
        with outbox_harness.database.transaction(viewer) as tx:
            return outbox.list_waiting(viewer, tx, outbox_harness.now + timedelta(seconds=seconds), 10)

    assert list_waiting(59) == []
    assert [(reply.id, reply.problem) for reply in list_waiting(60)] == [(outbox_id, None)]
    phone.trouble = {0: MissingSecret("secret parlour/tenants/acme/key is missing"), 1: ProviderUnavailable("busy")}
    sending(outbox_harness, phone, outbox_id)
    (waiting,) = list_waiting(0)
    assert (waiting.secret_name, waiting.attempts) == (WHATSAPP["api_key"], 0)
    assert waiting.problem == "missing_secret: secret parlour/tenants/acme/key is missing"
    assert waiting.next_attempt_by == outbox_harness.now + timedelta(minutes=5)
    with pytest.raises(ProviderUnavailable):
        sending(outbox_harness, phone, outbox_id)
    (waiting,) = list_waiting(0)
    assert (waiting.problem, waiting.attempts) == ("provider_unavailable: busy", 1)
    assert sending(outbox_harness, phone, outbox_id).state == "sent"
    assert list_waiting(3600) == []


@pytest.mark.parametrize(
    "channels",
    [
        {},
        {"whatsapp": {**WHATSAPP, "provider": "pigeon"}},
        {"whatsapp": {**WHATSAPP, "source": None}},
        {"whatsapp": {**WHATSAPP, "app": 7}},
        {"whatsapp": {**WHATSAPP, "api_key": "of nobody"}},
    ],
)
def test_send_with_an_incomplete_binding_waits_with_the_reason(
    outbox_harness: OutboxHarness, phone: Phone, channels: dict[str, object]
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    outbox_harness.set_channels(channels)  # type: ignore[arg-type]

    assert sending(outbox_harness, phone, outbox_id) == SendResult(
        "pending", 0, outbox_harness.now + timedelta(minutes=5)
    )
    delivery = outbox_harness.find_delivery(outbox_id)
    assert (delivery.state, delivery.attempts, phone.asked) == ("pending", 0, 0)
    assert str(delivery.problem).startswith("misconfigured: channels.whatsapp")

    outbox_harness.set_channels({"whatsapp": WHATSAPP})
    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 1)


def test_an_empty_reply_fails_instead_of_being_tried_forever(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = outbox_harness.add_reply(" \n ")

    assert sending(outbox_harness, phone, outbox_id) == SendResult("failed", 0)
    assert outbox_harness.find_delivery(outbox_id).problem == "there is no text to send"


def test_a_reply_that_falls_into_other_parts_than_before_is_not_guessed_at(
    outbox_harness: OutboxHarness, phone: Phone
) -> None:
    outbox_id = outbox_harness.add_reply(LONG)
    with outbox_harness.database.transaction(outbox_harness.principal) as tx:
        store.begin_attempt(tx, outbox_id, 5, SENDER)
        store.record_part_sent(tx, outbox_id, 1, "gs-of-before", SENDER, outbox_harness.now)
        row = store.lock_reply(tx, outbox_id)
        assert row
        store.end_attempt(tx, row, "pending", "provider_unavailable", SENDER, 1, outbox_harness.now)

    assert sending(outbox_harness, phone, outbox_id) == SendResult("unknown", 1)
    assert phone.asked == 0


def test_a_reply_that_was_forgotten_is_nobodys_problem(outbox_harness: OutboxHarness, phone: Phone) -> None:
    assert sending(outbox_harness, phone, uuid7(outbox_harness.now)) == SendResult("not_found", 0)


def test_a_reply_that_is_forgotten_while_it_is_sent_is_nobodys_problem_either(
    outbox_harness: OutboxHarness, phone: Phone
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    phone.on_asked = outbox_harness.erase_session

    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 1)
    assert sending(outbox_harness, phone, outbox_id) == SendResult("not_found", 0)


def test_a_connection_that_dies_under_the_call_does_not_forget_what_was_sent(
    outbox_harness: OutboxHarness, phone: Phone
) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    phone.on_asked = lambda: kill_connections(outbox_harness)

    assert sending(outbox_harness, phone, outbox_id) == SendResult("sent", 1)
    assert outbox_harness.find_delivery(outbox_id).state == "sent"


def test_a_database_that_stays_away_is_a_retry_and_then_unknown(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = outbox_harness.add_reply("Poured on Tuesday.")
    connect = outbox_harness.database._connect

    def gone() -> None:
        outbox_harness.database.close()
        outbox_harness.database._connect = refuse

    phone.on_asked = gone
    with pytest.raises(DatabaseUnavailable):
        sending(outbox_harness, phone, outbox_id)

    outbox_harness.database._connect = connect
    assert sending(outbox_harness, phone, outbox_id) == SendResult("unknown", 0)
    assert phone.asked == 1


def kill_connections(outbox_harness: OutboxHarness) -> None:
    """End our own connection from the server's side, as a failover does."""
    connection = outbox_harness.database._connection
    assert connection is not None
    connection.execute("SELECT 1")
    connection.rollback()
    connection.pgconn.finish()


def refuse(seconds: float) -> Connection:
    raise psycopg.OperationalError("connection refused")


YES_NO = (Button("a:yes", "Yes"), Button("a:no", "No"))


def test_buttons_are_below_the_last_part_of_a_long_question(outbox_harness: OutboxHarness, phone: Phone) -> None:
    outbox_id = outbox_harness.add_reply(LONG, buttons=YES_NO)

    assert sending(outbox_harness, phone, outbox_id).state == "sent"
    *texts, last = phone.received
    assert texts
    assert all(not message.buttons for message in texts)
    assert list(last.buttons) == list(YES_NO)
    assert all(len(message.text) <= 1024 for message in phone.received)


def test_more_options_than_buttons_are_a_numbered_list(outbox_harness: OutboxHarness, phone: Phone) -> None:
    options = [Button(f"o:{number}", f"Tower {number}") for number in range(1, 5)]
    sending(outbox_harness, phone, outbox_harness.add_reply("Which one?", buttons=options))

    [message] = phone.received
    assert message.text == "Which one?\n\n1. Tower 1\n2. Tower 2\n3. Tower 3\n4. Tower 4"
    assert not message.buttons


@pytest.mark.parametrize("has_question_template", [True, False])
def test_a_question_after_the_window_is_a_template(
    outbox_harness: OutboxHarness, phone: Phone, has_question_template: bool
) -> None:
    templates: list[Json] = [{"name": "plain", "id": "p-1", "text": "News: {{1}}", "purpose": "reply"}]
    if has_question_template:
        templates.append({"name": "ask", "id": "q-1", "text": "Please answer: {{1}}", "purpose": "question"})
    outbox_harness.set_channels({"whatsapp": {**WHATSAPP, "templates": templates}})
    outbox_id = outbox_harness.add_reply("Send the crane?", buttons=YES_NO)

    assert sending(outbox_harness, phone, outbox_id, outbox_harness.now + timedelta(hours=25)).state == "sent"
    [message] = phone.received
    assert message.template
    found = (message.template.name, message.text, list(message.buttons))
    if has_question_template:
        assert found == ("q-1", "Please answer: Send the crane?", list(YES_NO))
    else:
        assert found == ("p-1", "News: Send the crane? 1. Yes 2. No", [])
