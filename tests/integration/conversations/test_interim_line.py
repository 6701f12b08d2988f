"""A turn on messaging that takes long says so once, through the outbox, and never as an answer."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import pytest

from parlour.channels import outbox
from parlour.channels.send import OutgoingMessage, SendResult, send_reply
from parlour.conversations import canned_replies, turn_views
from parlour.infra.errors import DeliveryUnknown, Misconfigured, ParlourError, ProviderRejected, WindowClosed
from parlour.infra.ids import uuid7
from parlour.infra.json_values import canonical_json
from parlour.jobs import renewal
from parlour.principal import system_principal
from tests.conversation_harness import PHONE, ConversationHarness, text_answer

_PATIENCE_SECONDS = 20


@pytest.fixture(autouse=True)
def frequent_renewals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "RENEWAL_SECONDS", 0.01)


def wait_until(conversation: ConversationHarness, statement: str) -> None:
    with closing(conversation.database.clone()) as own:
        for _ in range(_PATIENCE_SECONDS * 50):
            with own.transaction(conversation.tenant_id) as tx:
                if tx._connection.execute(statement.encode()).fetchone() is not None:
                    return
            time.sleep(0.02)


def take(conversation: ConversationHarness, seconds: int, until: str = "SELECT FROM outbox") -> Callable[[], None]:
    """The model takes `seconds`, and the thread that renews the lease has its turns meanwhile."""

    def wait() -> None:
        conversation.clock.now += timedelta(seconds=seconds)
        wait_until(conversation, until)

    return wait


def renewed_at(conversation: ConversationHarness, seconds: int) -> str:
    """A statement that finds the lease once it was renewed `seconds` from now."""
    later = conversation.clock.now + timedelta(seconds=seconds)
    return f"SELECT FROM sessions WHERE lease_until >= '{later.isoformat()}'"


def sent(conversation: ConversationHarness) -> list[tuple[object, ...]]:
    return conversation.query(
        "SELECT m.kind, m.body, o.recipient FROM outbox o JOIN messages m ON m.id = o.message_id ORDER BY o.created_at"
    )


def test_a_long_turn_says_once_that_it_is_still_working(conversation: ConversationHarness) -> None:
    conversation.model.before_completion = take(conversation, 16)
    conversation.model.script = [RuntimeError("the worker died"), text_answer("In 2027."), text_answer("Yes.")]
    conversation.send_whatsapp("When do we finish?")
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    conversation.run_turn()
    assert sent(conversation) == [
        ("notice", canned_replies.STILL_WORKING_REPLY, PHONE),
        ("text", "In 2027.", PHONE),
    ]
    bodies = [
        conversation.query(
            f"SELECT m.kind FROM outbox o JOIN messages m ON m.id = o.message_id"
            f" WHERE o.id = '{message.body['outbox_id']}'"
        )
        for message in conversation.outbox.sent.values()
    ]
    assert bodies == [[("notice",)], [("text",)]]
    conversation.model.before_completion = lambda: None
    conversation.send_whatsapp("Sure?", "m2")
    conversation.run_turn()
    assert canned_replies.STILL_WORKING_REPLY not in canonical_json(list(conversation.model.requests[-1].messages))
    session_id = conversation.list_wakes()[-1].session_id
    with conversation.database.transaction(conversation.admin) as tx:
        transcript = turn_views.read_transcript(conversation.admin, tx, session_id, 10)
    assert [one.text for one in transcript] == ["When do we finish?", "In 2027.", "Sure?", "Yes."]


def test_a_turn_that_was_resumed_after_its_line_does_not_say_it_again(conversation: ConversationHarness) -> None:
    def die() -> None:
        take(conversation, 16)()
        raise RuntimeError("the worker died")

    conversation.model.before_completion = die
    conversation.model.script = [text_answer("In"), text_answer("In 2027.")]
    conversation.send_whatsapp("When do we finish?")
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    conversation.model.before_completion = take(conversation, 16, renewed_at(conversation, 16))
    conversation.run_turn()
    assert [kind for kind, *_ in sent(conversation)] == ["notice", "text"]


def test_the_line_is_in_the_agents_language_or_the_tenants_words(conversation: ConversationHarness) -> None:
    conversation.query("UPDATE humans SET languages = '{hi,en}' RETURNING id")
    conversation.model.before_completion = take(conversation, 16)
    conversation.model.script = [text_answer("2027 में।")]
    conversation.send_whatsapp("हम कब तक पूरा करेंगे?")
    conversation.run_turn()
    assert sent(conversation)[0][1] == "इस पर काम चल रहा है। जवाब थोड़ी देर में आएगा।"


@dataclass
class Phone:
    """A provider that takes messages, or says what is wrong."""

    problem: ParlourError | None = None
    received: list[str] = field(default_factory=list)

    def deliver(self, outgoing: OutgoingMessage, /) -> str:
        if self.problem:
            raise self.problem
        self.received.append(outgoing.text)
        return f"gs-{len(self.received)}"


def deliver_line(conversation: ConversationHarness, phone: Phone) -> SendResult:
    """Send the interim line, from a connection of its own: the turn's may be in use."""
    with closing(conversation.database.clone()) as own:
        with own.transaction(conversation.tenant_id) as tx:
            ((line,),) = tx._connection.execute(
                b"SELECT o.id FROM outbox o JOIN messages m ON m.id = o.message_id WHERE m.kind = 'notice'"
            ).fetchall()
        sender, now = system_principal(conversation.tenant_id), conversation.clock()
        assert isinstance(line, UUID)
        return send_reply(sender, own, {"gupshup": phone}, line, uuid7(now), now, lambda: 60.0)


def list_items_to_see_to(conversation: ConversationHarness) -> list[object]:
    with conversation.database.transaction(conversation.admin) as tx:
        return [
            *outbox.list_needing_decision(conversation.admin, tx, 10),
            *outbox.list_failed(conversation.admin, tx, conversation.clock(), 10).rows,
        ]


def run_long_turn(conversation: ConversationHarness, meanwhile: Callable[[], object]) -> None:
    """Run a turn that announces itself, and do something before it answers."""

    def wait() -> None:
        take(conversation, 16)()
        meanwhile()

    conversation.model.before_completion = wait
    conversation.model.script = [text_answer("In 2027.")]
    conversation.send_whatsapp("When do we finish?")
    conversation.run_turn()


def test_a_line_is_sent_while_its_turn_runs(conversation: ConversationHarness) -> None:
    phone = Phone()
    run_long_turn(conversation, lambda: deliver_line(conversation, phone))
    assert phone.received == [canned_replies.STILL_WORKING_REPLY]


def test_a_line_that_waited_until_its_turn_has_ended_is_dismissed(conversation: ConversationHarness) -> None:
    refused, admitted = Phone(Misconfigured("the key is refused")), Phone()
    run_long_turn(conversation, lambda: deliver_line(conversation, refused))
    assert deliver_line(conversation, admitted) == SendResult("failed", 0)
    assert admitted.received == []
    assert list_items_to_see_to(conversation) == []
    due = "SELECT m.kind FROM work_due w JOIN outbox o ON o.id = w.id JOIN messages m ON m.id = o.message_id"
    assert conversation.query(due) == [("text",)]


@pytest.mark.parametrize("problem", [DeliveryUnknown(), WindowClosed(), ProviderRejected("no"), KeyError()])
def test_nobody_decides_about_a_line_that_may_not_have_arrived(
    conversation: ConversationHarness, problem: Exception
) -> None:
    phone = Phone(problem)  # type: ignore[arg-type]

    def deliver() -> None:
        if isinstance(problem, KeyError):  # the sender dies in the middle, and the next finds the row
            with pytest.raises(KeyError):
                deliver_line(conversation, phone)
            conversation.clock.now += timedelta(seconds=5)  # its lease ends
        assert deliver_line(conversation, phone) == SendResult("failed", 0)

    run_long_turn(conversation, deliver)
    assert list_items_to_see_to(conversation) == []


@pytest.mark.parametrize("reason", ["quick", "off", "stopped", "web"])
def test_no_line_is_sent(conversation: ConversationHarness, reason: str) -> None:
    if reason == "off":
        channels = """jsonb_set(channels, '{whatsapp,interim_seconds}', '0')"""
        conversation.query(f"UPDATE bindings SET channels = {channels} RETURNING id")
    seconds = 14 if reason == "quick" else 16
    conversation.model.script = [text_answer("In 2027.")]
    if reason == "web":
        visitor = conversation.create_visitor()
        conversation.send_web(visitor, conversation.find_session(visitor), "When do we finish?")
    else:
        conversation.send_whatsapp("When do we finish?")
    stops = "UPDATE turns SET stop_cause = 'user' WHERE state = 'open' RETURNING 1"

    def wait() -> None:
        with closing(conversation.database.clone()) as own, own.transaction(conversation.tenant_id) as tx:
            if reason == "stopped":
                tx._connection.execute(stops.encode())
        take(conversation, seconds, renewed_at(conversation, seconds))()

    conversation.model.before_completion = wait
    conversation.run_turn()
    kinds = [kind for (kind,) in conversation.query("SELECT kind FROM messages WHERE direction = 'outbound'")]
    assert kinds == ["text"]
