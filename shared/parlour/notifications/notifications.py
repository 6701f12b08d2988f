"""Notifications on their way out: stored with the event that they tell of, sent once, and visible when they fail.

pending -> sending -> sent
   ^          |---> failed    refused, or not taken after the last attempt
   |----------+---> unknown   a worker died while it sent a mail, or the last attempt: never sent again by itself
 not taken
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid5

from parlour.infra import log
from parlour.infra.errors import Conflict, NotFound, QueueUnavailable
from parlour.infra.postgres import Transaction
from parlour.infra.queues import DelayedQueue, FifoQueue, QueueMessage
from parlour.jobs import work_due
from parlour.jobs.sweep import Finder, StaleWork
from parlour.jobs.work_due import DueWork
from parlour.notifications import event as inbox_event
from parlour.notifications import store
from parlour.notifications.event import InboxEvent, NotificationSettings
from parlour.notifications.store import NotificationProblem
from parlour.principal import Principal
from parlour.tenancy import users
from parlour.tenancy.roles import require_role

__all__ = ["NotificationProblem", "Resolution", "finder", "list_problems", "notify", "record_bounce", "resolve_problem"]

type Resolution = Literal["send_again", "dismiss"]


def notify(tx: Transaction, event: InboxEvent, now: datetime) -> None:
    """Store a notification for everybody who is to be told, in the transaction of the event.

    Send the wake-ups of `list_pending` after the commit; the sweep finds what is not woken.
    """
    settings = NotificationSettings.from_json(store.find_settings(tx, event.session_id))
    if not (settings.chatwoot_inbox or settings.lists(event) or event.assignee_id):
        return
    for recipient in inbox_event.list_recipients(settings, event, store.list_member_addresses(tx)):
        notification_id = uuid5(event.id, f"{recipient.medium}:{recipient.address}")
        waits = event.is_flood and recipient.medium == "email"
        due_at = now + inbox_event.MAIL_INTERVAL if waits else now
        store.add_notification(tx, notification_id, event, recipient, due_at, now)


def list_pending(tx: Transaction, session_id: UUID) -> list[DueWork]:
    """Return the notifications of a conversation that no worker has tried yet, to be woken after the commit."""
    return store.list_pending(tx, session_id)


def send_wakeups(wakeup_queue: DelayedQueue, pending: Sequence[DueWork], now: datetime) -> None:
    """Have notifications sent at once. What cannot be woken is found by the sweep."""
    for work in pending:
        try:
            work_due.send_wakeup(wakeup_queue, work, now)
        except QueueUnavailable as problem:
            log.warning("notification_wake_failed", tenant_id=work.tenant_id, code=problem.code)


def find_chatwoot_inbox(tx: Transaction, binding: str) -> str | None:
    """Return the address of a binding's inbox in Chatwoot; None where it has none."""
    settings = NotificationSettings.from_json(store.find_binding_settings(tx, binding))
    return settings.chatwoot_inbox or None


def finder(queue: FifoQueue) -> Finder:
    """Return the finder of notifications that wait to be sent."""

    def find(tx: Transaction, work: DueWork, _now: datetime) -> StaleWork | None:
        row = store.lock_notification(tx, work.id)
        if row is None or row.state not in {"pending", "sending"}:
            return None
        message = QueueMessage(
            {"tenant_id": str(work.tenant_id), "notification_id": str(work.id)}, str(work.id), work.deduplication_id
        )
        leased_until = work_due.find_lease_end(tx, "notification", work.id)
        return StaleWork(row.created_at, lambda: queue.send([message]), leased_until, is_planned=True)

    return find


def record_bounce(tx: Transaction, notification_id: UUID, reason: str, now: datetime) -> bool:
    """Mark a mail that was sent as failed, for the reason that the mail server gave later; whether it was sent."""
    row = store.lock_notification(tx, notification_id)
    if row is None or row.state not in {"sent", "unknown"}:
        return False
    store.set_state(tx, notification_id, "failed", reason, now)
    return True


def list_problems(
    principal: Principal, tx: Transaction, limit: int, session_id: UUID | None = None
) -> list[NotificationProblem]:
    """Return the notifications, of a session or of all, that were not delivered or may not have been. Needs viewer."""
    require_role(principal, "viewer")
    return store.list_problems(tx, principal.clearance, limit, session_id)


def resolve_problem(
    principal: Principal, tx: Transaction, notification_id: UUID, resolution: Resolution, now: datetime
) -> DueWork | None:
    """Send a notification again, or dismiss it. Needs admin. Return the work to wake.

    Raises NotFound, and Conflict when there is nothing to decide.
    """
    require_role(principal, "admin")
    row = store.lock_notification(tx, notification_id)
    if row is None or not users.can_read_session(principal, tx, row.session_id):
        raise NotFound("notification not found; reload the list")
    if row.state not in {"failed", "unknown"}:
        raise Conflict("this notification is decided already; reload the list")
    if resolution == "dismiss":
        store.set_state(tx, notification_id, "dismissed", "", now)
        return None
    store.set_state(tx, notification_id, "pending", row.problem, now)
    work_due.schedule(tx, "notification", notification_id, now)
    return DueWork(principal.tenant_id, "notification", notification_id, now)
