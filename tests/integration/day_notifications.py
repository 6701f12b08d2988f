"""The part of the working day in which people are notified of a conversation."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from parlour.inbox import events, threads
from parlour.inbox.events import EventKind, NewEvent
from parlour.infra.errors import ProviderRejected
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.notifications import chatwoot_addresses, chatwoot_conversations, delivery_job, notifications, store
from parlour.notifications.delivery_job import Sender
from parlour.notifications.event import InboxEvent, Medium
from parlour.notifications.store import NotificationRow
from tests.conversation_harness import ConversationHarness

_CHATWOOT = '{"chatwoot": {"url": "https://chat.example", "account": 3, "inbox": 7, "token": "token", "clearance": 1}}'
_KINDS: tuple[EventKind, ...] = ("opened", "closed")
_MEMBER = """
INSERT INTO members (tenant_id, id, issuer, subject, display_name, roles, clearance, email, created_at)
VALUES (current_tenant(), '00000000-0000-0000-0000-000000000521', 'https://id.example.org', 'chatwoot', 'Ines',
        '{viewer,editor}', 3, 'chatwoot@example.com', now())
RETURNING id
"""
_SETTINGS = "UPDATE bindings SET notifications = '{}' RETURNING id"


class FullMailbox:
    """A mail server that refuses every mail."""

    def send(self, _notification: NotificationRow, /) -> None:
        raise ProviderRejected("550 mailbox full")


class EmptyMailbox:
    """Takes every mail."""

    def send(self, _notification: NotificationRow, /) -> None:
        """Take it."""


def notify_people(conversation: ConversationHarness) -> None:
    """A mail is refused; a person has it sent again, and it is refused again."""
    admin, now = conversation.admin, conversation.clock()
    ((session_id,),) = conversation.query("SELECT id FROM sessions ORDER BY id LIMIT 1")
    event = InboxEvent(UUID(int=501), "opened", UUID(str(session_id)), "The user asked.")
    conversation.query(_SETTINGS.format('{"email": ["desk@example.com"]}'))
    with conversation.database.transaction(admin) as tx:
        notifications.notify(tx, event, now)
        [work] = notifications.list_pending(tx, event.session_id)
    body: JsonObject = {"tenant_id": str(work.tenant_id), "notification_id": str(work.id)}
    later = now + timedelta(seconds=1)
    delivery_job.deliver(body, conversation.database, {"email": FullMailbox()}, lambda _: None, later, lambda: 60.0)
    with conversation.database.transaction(admin) as tx:
        assert notifications.list_problems(admin, tx, 10)
        assert notifications.resolve_problem(admin, tx, work.id, "send_again", later)
    delivery_job.deliver(body, conversation.database, {"email": FullMailbox()}, lambda _: None, later, lambda: 60.0)
    _mail_of_strangers(conversation, later)
    _copy_to_chatwoot(conversation, event.session_id, later)
    conversation.query(_SETTINGS.format("{}"))


def _mail_of_strangers(conversation: ConversationHarness, now: datetime) -> None:
    """Two conversations of anonymous visitors make one mail."""
    for _ in range(2):
        session_id = conversation.find_session(conversation.create_visitor())
        with conversation.database.transaction(conversation.admin) as tx:
            threads.open_thread(conversation.admin, tx, session_id, "asked", "", now)
            [work] = notifications.list_pending(tx, session_id)
    body: JsonObject = {"tenant_id": str(work.tenant_id), "notification_id": str(work.id)}
    delivery_job.deliver(body, conversation.database, {"email": EmptyMailbox()}, lambda _: None, now, lambda: 60.0)


def _copy_to_chatwoot(conversation: ConversationHarness, session_id: UUID, now: datetime) -> None:
    """Two events are on their way to Chatwoot: the second waits for the first."""
    admin = conversation.admin
    conversation.query(_SETTINGS.format(_CHATWOOT))
    with conversation.database.transaction(admin) as tx:
        for number, kind in enumerate(_KINDS):
            events.add_event(tx, NewEvent(UUID(int=510 + number), session_id, kind, "system", now))
    opened, closed = conversation.query(
        "SELECT id FROM notifications WHERE medium = 'chatwoot' AND event IN ('opened', 'closed') ORDER BY event DESC"
    )
    senders: Mapping[Medium, Sender] = {"chatwoot": FullMailbox()}
    for (notification_id,) in (closed, opened, closed):
        body: JsonObject = {"tenant_id": str(conversation.tenant_id), "notification_id": str(notification_id)}
        now += timedelta(minutes=1)
        delivery_job.deliver(body, conversation.database, senders, lambda _: None, now, lambda: 60.0)
    inbox = "https://chat.example/api/v1/accounts/3/inboxes/7"
    with conversation.database.transaction(admin) as tx:
        assert len(notifications.list_problems(admin, tx, 10, session_id)) > 1
        store.save_chatwoot_conversation(tx, session_id, inbox, 52, 9)
        found = store.read_chatwoot_event(tx, UUID(str(opened[0])))
        assert found is not None
        assert found.conversation == 52
        store.delete_chatwoot_conversation(tx, session_id, inbox)
        store.save_chatwoot_conversation(tx, session_id, inbox, 53, 9)
    _answer_in_chatwoot(conversation, session_id, inbox, now)


def _answer_in_chatwoot(conversation: ConversationHarness, session_id: UUID, inbox: str, now: datetime) -> None:
    """A member is found by their address, what they write is not sent back, and something of theirs is refused."""
    conversation.query(_MEMBER)
    tenant_id, message_id, refusal_id = conversation.tenant_id, UUID(int=519), UUID(int=520)
    with conversation.database.transaction(conversation.admin) as tx:
        assert notifications.find_chatwoot_inbox(tx, "site-desk") == inbox
        source = chatwoot_addresses.open_address(conversation.admin, tx, "site-desk", uuid7(now), now)
        chatwoot_addresses.require_current(tx, source)
        session = chatwoot_conversations.find_session(tx, inbox, 53)
        assert session is not None
        person = chatwoot_conversations.find_answerer(tx, tenant_id, session, "Chatwoot@example.com")
        assert person is not None
        assert chatwoot_conversations.find_holder(tx, tenant_id, session, person.name) == person
        events.add_event(tx, NewEvent(message_id, session_id, "said", "agent", now, message_id=message_id))
        chatwoot_conversations.drop_message(tx, message_id)
        chatwoot_conversations.refuse(tx, session, inbox, refusal_id, "Nobody has it.", now)
        assert chatwoot_conversations.is_refused(tx, refusal_id)
