"""The part of the working day in which people are notified of a conversation."""

from datetime import timedelta
from uuid import UUID

from parlour.infra.errors import ProviderRejected
from parlour.infra.json_values import JsonObject
from parlour.notifications import delivery_job, notifications
from parlour.notifications.event import InboxEvent
from parlour.notifications.store import NotificationRow
from tests.conversation_harness import ConversationHarness

_SETTINGS = "UPDATE bindings SET notifications = '{}' RETURNING id"


class FullMailbox:
    """A mail server that refuses every mail."""

    def send(self, _notification: NotificationRow, /) -> None:
        raise ProviderRejected("550 mailbox full")


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
    conversation.query(_SETTINGS.format("{}"))
