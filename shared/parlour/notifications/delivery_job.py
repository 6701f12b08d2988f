"""The job that sends one notification.

The row is `sending`, committed, before the recipient is called. A later worker that finds it so knows that somebody
died while sending: an e-mail is then `unknown` and not sent again, since nobody can tell. A webhook is: its receiver
gets the same idempotency key and drops the second one. For Chatwoot, what is there already is looked up. After the last
attempt these are `unknown`, too.

Mails about waiting conversations of anonymous visitors with one binding go to one recipient once in five minutes: the
next one says how many wait, and ends those that came meanwhile. Chatwoot gets the events of a conversation in their
order: each waits until the one before has ended.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import DeliveryUnknown, MalformedPayload, Misconfigured, ProviderRejected, ProviderUnavailable
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.jobs import runner, work_due
from parlour.jobs.backoff import backoff
from parlour.jobs.runner import JobFailed, LeasedJob
from parlour.jobs.work_due import Attempts, DueWork
from parlour.notifications import store
from parlour.notifications.event import MAIL_INTERVAL, WAITING_EVENTS, Medium
from parlour.notifications.store import NotificationRow, NotificationState
from parlour.principal import Principal, system_principal

#: Attempts at a recipient that does not answer: some two hours in all.
MAX_ATTEMPTS = 8

_FIRST_WAIT = timedelta(minutes=1)
_TURN_WAIT = timedelta(seconds=10)
"""When a notification looks again whether the one before it has ended. Its end wakes it, too."""

_LEASE = timedelta(minutes=2)
_MAX_PROBLEM_CHARS = 300
_DIED = "The worker stopped while it sent this. It may have arrived."


class Sender(Protocol):
    """A way to tell somebody.

    Raises ProviderUnavailable (surely not taken), ProviderRejected or Misconfigured (refused for good) or
    DeliveryUnknown (may have been taken).
    """

    def send(self, notification: NotificationRow, /) -> None: ...


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A notification. waits_until: when to look again, where another one comes first. joined: what it tells of, too."""

    row: NotificationRow
    waits_until: datetime | None = None
    joined: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How an attempt ended; `pending` where none was made."""

    state: NotificationState
    problem: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryJob(LeasedJob[_Loaded, _Outcome, list[DueWork]]):
    """One notification. `wake` sends the message that begins an attempt: the next one, or that of what waited."""

    notification_id: UUID
    senders: Mapping[Medium, Sender]
    leased_until: datetime
    now: datetime
    wake: Callable[[DueWork], None]
    principal: Principal

    def begin(self, tx: Transaction) -> bool:
        """Lease the notification, if it is not done.

        The sweep has sent the message because it was due, and has made it due later: its time says nothing here.
        """
        if work_due.find(tx, "notification", self.notification_id) is None:
            return False
        return work_due.lease(tx, "notification", self.notification_id, self.leased_until, self.now)

    def load(self, tx: Transaction) -> _Loaded | None:
        """Mark the row as being sent; an attempt whose worker died counts as one that failed."""
        attempts = self._lock(tx)
        if attempts is None:
            return None
        row = store.lock_notification(tx, self.notification_id)
        if row is None or row.state not in {"pending", "sending"}:
            work_due.complete(tx, "notification", self.notification_id)
            return None
        if row.state == "sending":
            failures = attempts.failures + 1
            if row.medium == "email" or failures >= MAX_ATTEMPTS:
                self._end(tx, _Outcome("unknown", _DIED))
                return None
            work_due.record_attempts(tx, "notification", self.notification_id, Attempts(failures, "unavailable"))
        if row.medium == "chatwoot" and (before := store.find_predecessor(tx, row.id)):
            is_due_later = before.state == "pending" and before.due_at > self.now
            return _Loaded(row, before.due_at if is_due_later else self.now + _TURN_WAIT)
        if row.medium == "email" and row.event in WAITING_EVENTS:
            return self._load_mail(tx, row)
        store.set_state(tx, row.id, "sending", row.problem, self.now)
        return _Loaded(row)

    def _load_mail(self, tx: Transaction, row: NotificationRow) -> _Loaded:
        """Mark a mail about a waiting conversation as being sent, unless its recipient got one a short time ago.

        A mail beside others, or one that has waited while others came, says how many conversations wait.
        """
        store.lock_mails(tx, row.id)
        joined = store.list_joined_mails(tx, row.id, WAITING_EVENTS, self.now - MAIL_INTERVAL)
        earlier = [mail.ended_at or self.now for mail in joined if mail.state != "pending"]
        if earlier:
            return _Loaded(row, max(earlier) + MAIL_INTERVAL)
        store.set_state(tx, row.id, "sending", row.problem, self.now)
        if not joined and self.now - row.created_at < _FIRST_WAIT:
            return _Loaded(row)
        count = store.count_waiting(tx, row.id) or 0
        if count <= 1 and not joined:
            return _Loaded(row)
        return _Loaded(replace(row, waiting_count=count), joined=[mail.id for mail in joined])

    def ask(self, loaded: _Loaded, seconds_left: SecondsLeft) -> _Outcome:  # noqa: ARG002
        """Send it, if it is its turn."""
        if loaded.waits_until:
            return _Outcome("pending")
        try:
            self.senders[loaded.row.medium].send(loaded.row)
        except ProviderUnavailable as problem:
            raise JobFailed(str(problem)) from problem
        except (ProviderRejected, Misconfigured) as problem:
            return _Outcome("failed", str(problem))
        except DeliveryUnknown as problem:
            return _Outcome("unknown", str(problem))
        return _Outcome("sent")

    def commit(self, tx: Transaction, loaded: _Loaded, answer: _Outcome) -> list[DueWork] | None:
        """Write down how it ended; return what is to be woken."""
        if self._lock(tx) is None:
            return None
        if loaded.waits_until:
            work_due.release(tx, "notification", self.notification_id, self.leased_until, loaded.waits_until)
            return [DueWork(self.principal.tenant_id, "notification", self.notification_id, loaded.waits_until)]
        self._end(tx, answer)
        if loaded.joined and answer.state == "sent":
            store.end_joined_mails(tx, loaded.joined, self.now)
        return store.expedite_successor(tx, self.notification_id, self.now) if loaded.row.medium == "chatwoot" else []

    def report(self, loaded: _Loaded, answer: _Outcome, result: list[DueWork]) -> bool:
        """Log the end and wake what follows."""
        for work in result:
            self.wake(work)
        if loaded.waits_until:
            return False
        write_line = log.info if answer.state == "sent" else log.warning
        write_line("notification_ended", notification_id=loaded.row.id, medium=loaded.row.medium, state=answer.state)
        if answer.state != "sent":
            log.count("FailedNotification")
        return False

    def fail(self, tx: Transaction, code: str) -> int:
        """Try again later, longer each time; after the last attempt the notification has failed."""
        attempts = self._lock(tx)
        if attempts is None:
            return 0
        failures = attempts.failures + 1
        if failures >= MAX_ATTEMPTS:
            self._end(tx, _Outcome("failed", code))
            return failures
        store.set_state(tx, self.notification_id, "pending", code[:_MAX_PROBLEM_CHARS], self.now)
        work_due.record_attempts(tx, "notification", self.notification_id, Attempts(failures, "unavailable"))
        again = self._next_attempt(failures)
        work_due.release(tx, "notification", self.notification_id, self.leased_until, again)
        return failures

    def report_failure(self, code: str, failures: int) -> None:  # noqa: ARG002
        """Log the attempt, and wake the next one at its time."""
        log.warning("notification_retried", notification_id=self.notification_id, attempts=failures)
        if 0 < failures < MAX_ATTEMPTS:
            work = DueWork(self.principal.tenant_id, "notification", self.notification_id, self._next_attempt(failures))
            self.wake(work)

    def release(self, tx: Transaction) -> None:
        """End the lease."""
        work_due.release(tx, "notification", self.notification_id, self.leased_until, self.now)

    def _next_attempt(self, failures: int) -> datetime:
        return self.now + backoff(failures, _FIRST_WAIT)

    def _lock(self, tx: Transaction) -> Attempts | None:
        return work_due.lock_leased(tx, "notification", self.notification_id, self.leased_until)

    def _end(self, tx: Transaction, outcome: _Outcome) -> None:
        store.set_state(tx, self.notification_id, outcome.state, outcome.problem[:_MAX_PROBLEM_CHARS], self.now)
        work_due.complete(tx, "notification", self.notification_id)


def parse_message(body: JsonObject) -> tuple[UUID, UUID]:
    """Return tenant and notification of a message's body. Raises MalformedPayload."""
    try:
        return UUID(str(body["tenant_id"])), UUID(str(body["notification_id"]))
    except (KeyError, ValueError):
        raise MalformedPayload('a notification\'s message is {"tenant_id", "notification_id"}') from None


def deliver(
    body: JsonObject,
    database: Database,
    senders: Mapping[Medium, Sender],
    wake: Callable[[DueWork], None],
    now: datetime,
    seconds_left: SecondsLeft,
) -> None:
    """Send the notification that a queue message names, unless it is sent already."""
    tenant_id, notification_id = parse_message(body)
    principal = system_principal(tenant_id)
    job = DeliveryJob(notification_id, senders, now + _LEASE, now, wake, principal)
    runner.run(job, database, principal, seconds_left)
