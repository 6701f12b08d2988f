"""Strangers bring many conversations to the inbox: people get few mails, and miss none of the conversations."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from parlour.inbox import threads
from parlour.infra.errors import ProviderUnavailable
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.notifications import delivery_job
from parlour.notifications.email import make_message
from parlour.notifications.store import NotificationRow
from parlour.tenancy import limits
from tests.conversation_harness import ConversationHarness, text_answer

MINUTE = timedelta(minutes=1)


@dataclass
class Mailbox:
    """The mails that were taken, as recipient and subject; it is down for the first attempts."""

    mails: list[tuple[str, str]] = field(default_factory=list)
    down_for: int = 0

    def send(self, notification: NotificationRow, /) -> None:
        if self.down_for:
            self.down_for -= 1
            raise ProviderUnavailable("down")
        mail = make_message(notification, "parlour@example.com", "https://p.test")
        self.mails.append((mail["To"], mail["Subject"]))


def configure(conversation: ConversationHarness, settings: JsonObject) -> None:
    conversation.query(f"UPDATE bindings SET notifications = '{json.dumps(settings)}' RETURNING id")


def open_conversation(conversation: ConversationHarness) -> UUID:
    """A conversation of a new visitor waits for a person."""
    session_id = conversation.find_session(conversation.create_visitor())
    with conversation.database.transaction(conversation.admin) as tx:
        threads.open_thread(conversation.admin, tx, session_id, "asked", "", conversation.clock())
    return session_id


def list_due(conversation: ConversationHarness, now: datetime) -> list[UUID]:
    rows = conversation.query(
        f"SELECT id FROM work_due WHERE kind = 'notification' AND due_at <= '{now.isoformat()}' ORDER BY due_at, id"
    )
    return [UUID(str(found)) for (found,) in rows]


def deliver_due(conversation: ConversationHarness, mailbox: Mailbox, now: datetime, *databases: Database) -> None:
    """Run what is due, at once where several databases are given."""
    used = databases or (conversation.database,)

    def deliver(given: tuple[int, UUID]) -> None:
        number, notification_id = given
        body: JsonObject = {"tenant_id": str(conversation.tenant_id), "notification_id": str(notification_id)}
        database = used[number % len(used)].clone() if databases else used[0]
        delivery_job.deliver(body, database, {"email": mailbox, "webhook": mailbox}, lambda _: None, now, lambda: 60.0)
        if databases:
            database.close()

    with ThreadPoolExecutor(len(used)) as pool:
        list(pool.map(deliver, enumerate(list_due(conversation, now))))


def test_thirty_conversations_make_two_mails(conversation: ConversationHarness) -> None:
    configure(conversation, {"email": ["desk@example.com"]})
    mailbox = Mailbox()
    open_conversation(conversation)
    now = conversation.clock()
    deliver_due(conversation, mailbox, now)
    assert len(mailbox.mails) == 1
    for _ in range(29):
        open_conversation(conversation)
    for minutes in (1, 4):
        deliver_due(conversation, mailbox, now + minutes * MINUTE)
    assert len(mailbox.mails) == 1
    deliver_due(conversation, mailbox, now + 6 * MINUTE)
    deliver_due(conversation, mailbox, now + 60 * MINUTE)
    assert [subject for _, subject in mailbox.mails][-1] == "30 conversations with Site desk wait for a person"
    assert len(mailbox.mails) == 2
    assert conversation.query("SELECT count(*) FROM inbox_threads WHERE state = 'waiting'") == [(30,)]
    assert conversation.query("SELECT DISTINCT state FROM notifications") == [("sent",)]
    assert list_due(conversation, now + 600 * MINUTE) == []


def test_one_conversation_is_mailed_at_once_by_itself(conversation: ConversationHarness) -> None:
    configure(conversation, {"email": ["desk@example.com", "chief@example.com"]})
    mailbox = Mailbox()
    open_conversation(conversation)
    deliver_due(conversation, mailbox, conversation.clock())
    subject = "A conversation with Site desk waits for a person"
    assert sorted(mailbox.mails) == [("chief@example.com", subject), ("desk@example.com", subject)]
    conversation.clock.now += 6 * MINUTE
    open_conversation(conversation)
    deliver_due(conversation, mailbox, conversation.clock())
    assert [subject for _, subject in mailbox.mails] == [subject] * 4


def test_mails_that_begin_at_once_are_one(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    configure(conversation, {"email": ["desk@example.com"]})
    mailbox = Mailbox()
    for _ in range(12):
        open_conversation(conversation)
    deliver_due(conversation, mailbox, conversation.clock(), *(open_database() for _ in range(6)))
    assert len(mailbox.mails) == 1


def test_a_mail_server_that_is_down_loses_no_conversation(conversation: ConversationHarness) -> None:
    configure(conversation, {"email": ["desk@example.com"]})
    mailbox = Mailbox(down_for=3)
    for _ in range(3):
        open_conversation(conversation)
    now = conversation.clock()
    deliver_due(conversation, mailbox, now)
    assert mailbox.mails == []
    for minutes in range(1, 20):
        deliver_due(conversation, mailbox, now + minutes * MINUTE)
    assert mailbox.mails == [("desk@example.com", "3 conversations with Site desk wait for a person")]


def test_a_phone_is_mailed_of_at_once_while_strangers_flood(conversation: ConversationHarness) -> None:
    configure(conversation, {"email": ["desk@example.com"]})
    mailbox = Mailbox()
    for _ in range(6):
        open_conversation(conversation)
    deliver_due(conversation, mailbox, conversation.clock())
    assert len(mailbox.mails) == 1
    conversation.send_whatsapp("Hello")
    ((session_id,),) = conversation.query("SELECT id FROM sessions WHERE channel = 'whatsapp'")
    with conversation.database.transaction(conversation.admin) as tx:
        threads.open_thread(conversation.admin, tx, UUID(str(session_id)), "asked", "", conversation.clock())
    deliver_due(conversation, mailbox, conversation.clock())
    assert mailbox.mails[1:] == [("desk@example.com", "A conversation with Site desk waits for a person")]


def test_a_webhook_gets_every_conversation(conversation: ConversationHarness) -> None:
    configure(conversation, {"webhook": {"url": "https://hooks.example/in", "secret": "hook"}})
    mailbox = Mailbox()
    for _ in range(5):
        open_conversation(conversation)
    deliver_due(conversation, mailbox, conversation.clock())
    assert len(mailbox.mails) == 5


@pytest.mark.parametrize(("is_phone", "later"), [(False, 2), (True, 0)])
def test_openings_of_anonymous_visitors_have_a_bucket(
    conversation: ConversationHarness, monkeypatch: pytest.MonkeyPatch, is_phone: bool, later: int
) -> None:
    monkeypatch.setattr(limits, "_MAILED_OPENINGS_PER_MINUTE", 2)
    configure(conversation, {"email": ["desk@example.com"], "webhook": {"url": "https://h.example", "secret": "hook"}})
    conversation.query("""UPDATE bindings SET inbox = '{"words": {"en": ["human being"]}}' RETURNING id""")
    for number in range(4):
        if is_phone:
            conversation.send_whatsapp("A human being, please", f"p{number}", sender=f"+9198000006{number:02}")
        else:
            visitor = conversation.create_visitor()
            conversation.send_web(visitor, conversation.find_session(visitor), "A human being, please")
        conversation.model.script = [text_answer("Yes.")]
        conversation.run_turn()
    assert conversation.query("SELECT count(*) FROM inbox_threads WHERE state = 'waiting'") == [(4,)]
    waits = "SELECT n.medium FROM notifications n JOIN work_due w USING (id) WHERE w.due_at > n.created_at"
    assert conversation.query(waits) == [("email",)] * later
    assert conversation.query("SELECT count(*) FROM notifications WHERE event = 'opened'") == [(8,)]
