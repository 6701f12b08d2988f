"""From an envelope to a stored message and a woken session. A duplicate changes nothing, but wakes again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Literal
from uuid import UUID

from parlour.channels import delivery_updates, outbox
from parlour.channels.envelope import Envelope
from parlour.channels.media import FETCH_TIMEOUT_SECONDS
from parlour.conversations import attachment_uploads, stop_words, store
from parlour.conversations.canned_replies import CannedTexts
from parlour.conversations.rows import NewAttachment, NewMessage, StoredMessage
from parlour.inbox import events
from parlour.infra import log
from parlour.infra.errors import Conflict, MalformedPayload, Unauthenticated
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queues import REDELIVERED_KEY, DelayedQueue, FifoQueue, QueueMessage
from parlour.jobs import sweep, work_due
from parlour.jobs.sweep import Finder, StaleWork
from parlour.jobs.work_due import CHECK_DELAY, DueWork
from parlour.notifications import notifications
from parlour.principal import Principal, system_principal
from parlour.tenancy import bindings, rate_limits, routing_keys, users
from parlour.tenancy.bindings import Binding
from parlour.tenancy.limits import messaging_limits

type ReceiveOutcome = Literal["stored", "duplicate", "status", "routing_key_unknown"]

type StoreMedia = Callable[[Principal, UUID], object]
"""Fetches and keeps what a stored message came with. A RetryError brings the message again."""


@dataclass(frozen=True, slots=True)
class SessionWakeup:
    """What a turn queue carries: which session has something to answer.

    is_redelivered  whether the message was received before: the worker that had it may be dead.
    """

    tenant_id: UUID
    session_id: UUID
    is_redelivered: bool = False

    def to_queue_message(self, deduplication_id: str, wake_group: int) -> QueueMessage:
        """As a queue message; wakes of one session and group stay in order."""
        body: JsonObject = {"tenant_id": str(self.tenant_id), "session_id": str(self.session_id)}
        return QueueMessage(body, f"{self.session_id}:{wake_group}", deduplication_id)

    @classmethod
    def parse(cls, body: Mapping[str, object]) -> "SessionWakeup":
        """Back from a queue body; MalformedPayload when it is something else."""
        try:
            ids = UUID(str(body["tenant_id"])), UUID(str(body["session_id"]))
        except (KeyError, ValueError):
            raise MalformedPayload('a wake-up is {"tenant_id": uuid, "session_id": uuid}') from None
        return cls(*ids, is_redelivered=bool(body.get(REDELIVERED_KEY)))


@dataclass(frozen=True, slots=True)
class WebMessage:
    """A message that a visitor posts.

    client_id  makes a repeated post the same message.
    address    the hash of the network address that it came from; "" when it is not known.
    """

    session_id: UUID
    text: str
    client_id: str | None
    attachments: Sequence[NewAttachment] = ()
    address: str = ""


def unanswered_session_finder(turn_queues: Mapping[str, FifoQueue]) -> Finder:
    """Return the finder of sessions with an unanswered message or an open turn. `turn_queues`: by channel.

    One that a worker has leased is left to it, and checked much later: should it die, its own message comes again.
    """

    def find(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
        held = store.lock_session(tx, work.id)
        since = store.find_unanswered_since(tx, work.id) if held else None
        if held is None or since is None:
            return None
        queue = turn_queues.get(held.channel) or turn_queues["whatsapp"]
        if held.lease_until and held.lease_until > now:
            store.leave_wake(tx, work.id, now)
            return StaleWork(since, lambda: None, held.lease_until)
        group = store.open_wake_group(tx, work.id)
        woken = SessionWakeup(work.tenant_id, work.id).to_queue_message(work.deduplication_id, group)
        return StaleWork(since, sweep.message_sender(queue, woken), first_wait=CHECK_DELAY)

    return find


def require_single_tenant(database: Database) -> None:
    """Raise Unauthenticated when several tenants have numbers: then a secret has to say which ones it speaks for.

    The message goes to the dead letters, so nothing is lost: an operator binds the secret and redrives them.
    """
    if database.run(None, routing_keys.count_tenants_with_numbers) > 1:
        log.count("UnboundWebhookSecret")
        raise Unauthenticated("bind the webhook secret to its numbers (`only`), then redrive the queue intake")


def receive_envelope(
    database: Database,
    turn_queues: Mapping[str, FifoQueue],
    wakeup_queue: DelayedQueue,
    envelope: Envelope,
    now: datetime,
    store_media: StoreMedia = lambda _principal, _message_id: None,
    send_wakeup: Callable[[QueueMessage], object] = lambda _message: None,
) -> ReceiveOutcome:
    """Store what a provider delivered, in one transaction as its tenant, then wake the session's turn.

    Files are fetched in between, so that the turn has them. When that raises, or the process dies anywhere, the message
    comes again as a duplicate. A message on `wakeup_queue` wakes the session of somebody who has to wait. The first
    message of a quiet thread is not delayed: `turn_queues` has the queue without a delay as "web". `send_wakeup` wakes
    the sender of a reply that a status settled in part. A number that no active binding answers is acknowledged and
    counted: refusing it would only make the provider send it again and, in the end, disable the webhook. RetryError
    when the database or the queue is unavailable; the envelope is delivered again then and nothing happens twice.
    Conflict for a message to a number that waits for the operator: it ends among the dead letters, to be redriven once
    the number is accepted.
    """
    route = database.run(None, lambda tx: routing_keys.find_routing_key(tx, envelope.to))
    if route is None or route.binding_id is None:
        if envelope.kind != "status":
            _require_accepted_number(database, envelope)
        return _report_unknown_number(envelope)
    if envelope.kind == "status":
        known = delivery_updates.apply_status(system_principal(route.tenant_id), database, envelope, now, send_wakeup)
        log.info("status_received", tenant_id=route.tenant_id, status=envelope.status, known=known)
        return "status"
    stored = database.run(system_principal(route.tenant_id), partial(_store_envelope, envelope, route.binding_id, now))
    if stored is None:
        return _report_unknown_number(envelope)
    received, is_new = stored.message, stored.is_new
    log.info("message_received", tenant_id=route.tenant_id, message_id=received.id, session_id=received.session_id)
    if stored.deferred_until:
        work = DueWork(route.tenant_id, "session", received.session_id, stored.deferred_until)
        work_due.send_wakeup(wakeup_queue, work, now)
    notifications.send_wakeups(wakeup_queue, stored.notifications, now)
    if envelope.media:
        store_media(system_principal(route.tenant_id), received.id)
    if stored.notice_id:
        send_wakeup(
            outbox.wakeup_message(route.tenant_id, received.session_id, stored.notice_id, str(stored.notice_id))
        )
    if received.state == "unanswered" and not stored.deferred_until:
        queue = turn_queues["web" if received.is_quiet else envelope.channel]
        _send_wakeup(queue, route.tenant_id, received, is_new=is_new, now=now)
    return "stored" if is_new else "duplicate"


def receive_web_message(
    principal: Principal,
    database: Database,
    turn_queue: FifoQueue,
    wakeup_queue: DelayedQueue,
    message: WebMessage,
    now: datetime,
) -> UUID:
    """Store a visitor's message in their own session, wake its turn, and return the message's id.

    The check of the session is sent before the commit: nobody delivers a request again whose worker died. NotFound
    when the session is not the principal's own.
    """
    message_id = uuid7(now)

    def store_message(tx: Transaction) -> tuple[StoredMessage, bool, list[DueWork]]:
        session = attachment_uploads.get_own_session(principal, tx, message.session_id)
        store.mark_session_active(tx, session.id, message.address, now)
        row = NewMessage(
            id=message_id,
            session_id=session.id,
            binding_id=session.binding_id,
            state="unanswered",
            channel="web",
            kind="text" if message.text else "media",
            body=message.text,
            media=None,
            provider_message_id=web_message_id(session.id, message.client_id or str(message_id)),
            sent_at=now,
            received_at=now,
            metadata={},
            due_at=now + CHECK_DELAY,
        )
        stored, is_new = _insert_once(tx, row)
        if is_new:
            attachment_uploads.add_attachments(tx, row, message.attachments)
            binding = bindings.find_binding(tx, session.binding_id)
            if binding is not None:
                _stop_running_turn(tx, binding, row, stored, now)
        work = DueWork(principal.tenant_id, "session", stored.session_id, row.due_at)
        work_due.send_wakeup(wakeup_queue, work, now)
        return stored, is_new, _notify_inbox(tx, stored, principal.name, now) if is_new else []

    received, is_new, pending = database.run(principal, store_message)
    if received.state == "unanswered":
        _send_wakeup(turn_queue, principal.tenant_id, received, is_new=is_new, now=now, is_checked=True)
    notifications.send_wakeups(wakeup_queue, pending, now)
    log.info("message_received", tenant_id=principal.tenant_id, message_id=received.id, session_id=message.session_id)
    return received.id


def web_message_id(session_id: UUID, client_id: str) -> str:
    """Return the provider message id of a web message."""
    return f"web:{session_id}:{client_id}"


@dataclass(frozen=True, slots=True)
class _StoredEnvelope:
    """A message as it was stored.

    deferred_until  when its session is woken, if its sender wrote more than their binding takes.
    notice_id       the outbox row of a line that says so, where one is due.
    notifications   what people of the inbox are told of the message.
    """

    message: StoredMessage
    is_new: bool
    deferred_until: datetime | None = None
    notice_id: UUID | None = None
    notifications: Sequence[DueWork] = ()


def _store_envelope(envelope: Envelope, binding_id: UUID, now: datetime, tx: Transaction) -> _StoredEnvelope | None:
    """Store the message; None when the binding answers nobody.

    A stranger's message to a private door is stored and not answered: a reply would tell that somebody is there.
    """
    binding = bindings.find_binding(tx, binding_id)
    if binding is None or not binding.is_active:
        return None
    name = envelope.metadata.get("sender_name")
    contact = users.find_or_create_contact(
        tx,
        channel=envelope.channel,
        address=envelope.sender,
        display_name=name if isinstance(name, str) and name.strip() else None,
        binding_id=binding_id,
        now=now,
    )
    access = users.load_access(tx, contact.user_id, binding_id, contact.session_id)
    if not access.is_admitted:
        log.warning("stranger_at_private_door", binding_id=binding_id)
        log.count("StrangerAtPrivateDoor")
    media = envelope.media
    message = NewMessage(
        id=uuid7(now),
        session_id=contact.session_id,
        binding_id=binding_id,
        state="ignored" if envelope.kind == "other" or not access.is_admitted else "unanswered",
        channel=envelope.channel,
        kind=envelope.kind,
        body=envelope.text,
        media=None if media is None else media.to_json(),
        provider_message_id=f"{envelope.provider}:{envelope.provider_message_id}",
        sent_at=envelope.sent_at,
        received_at=now,
        metadata=envelope.metadata,
        due_at=now + CHECK_DELAY + (timedelta(seconds=FETCH_TIMEOUT_SECONDS) if media else timedelta()),
    )
    stored, is_new = _insert_once(tx, message)
    if is_new and stored.state == "unanswered":
        stored = _stop_running_turn(tx, binding, message, stored, now)
    pending = _notify_inbox(tx, stored, f"user:{contact.user_id}", now) if is_new else []
    limits = messaging_limits(access.limits, contact.user_id, binding_id)
    wait = rate_limits.take(tx, limits, now) if access.is_admitted and is_new else 0
    if not wait or stored.state != "unanswered":
        return _StoredEnvelope(stored, is_new, notifications=pending)
    later = now + timedelta(seconds=wait)
    work_due.schedule(tx, "session", stored.session_id, later)
    notice_id = _enqueue_notice(tx, message, envelope, now) if rate_limits.should_notify(tx, limits[0], now) else None
    return _StoredEnvelope(stored, is_new, later, notice_id, pending)


def _notify_inbox(tx: Transaction, stored: StoredMessage, actor: str, now: datetime) -> list[DueWork]:
    """Record a message of a conversation that people answer; return the notifications to wake."""
    is_held = stored.state == "unanswered" and events.record_message(
        tx, stored.session_id, stored.id, "user", actor, now
    )
    return notifications.list_pending(tx, stored.session_id) if is_held else []


def _stop_running_turn(
    tx: Transaction, binding: Binding, message: NewMessage, stored: StoredMessage, now: datetime
) -> StoredMessage:
    """Stop the session's running turn, if the message is a stop word or the binding lets a message interrupt.

    A stop word needs no answer. While a person is asked about a call, no message interrupts: it may be the answer.
    """
    session_id = stored.session_id
    if message.channel != "web" and stop_words.is_stop_word(message.body, binding.queue):
        if store.request_stop_of_open_turn(tx, session_id, "word", now, spares_questions=False):
            store.mark_as_answer(tx, stored.id)
            return replace(stored, state="answered")
    elif binding.queue.get("mode") == "interrupt":
        store.request_stop_of_open_turn(tx, session_id, "message", now, spares_questions=True)
    return stored


def _enqueue_notice(tx: Transaction, message: NewMessage, envelope: Envelope, now: datetime) -> UUID:
    """Store the line that tells somebody to wait, and return its outbox row."""
    outbox_id, notice_id = uuid7(now), uuid7(now)
    persona = bindings.load_persona(tx, message.binding_id)
    texts = CannedTexts.of_persona(persona) if persona else CannedTexts()
    store.insert_notice(
        tx,
        message_id=notice_id,
        session_id=message.session_id,
        binding_id=message.binding_id,
        channel=message.channel,
        body=texts.find("too_many_messages"),
        now=now,
    )
    delivery = outbox.NewDelivery(
        outbox_id, message.session_id, notice_id, message.binding_id, message.channel, envelope.sender
    )
    outbox.enqueue(tx, delivery, now)
    return outbox_id


def _require_accepted_number(database: Database, envelope: Envelope) -> None:
    """Raise Conflict for a number that a tenant claimed and the operator has not accepted."""
    if database.run(None, lambda tx: routing_keys.is_waiting(tx, envelope.to)):
        _report_unknown_number(envelope)
        raise Conflict("accept the number with `parlour routes accept`, then redrive the queue intake")


def _report_unknown_number(envelope: Envelope) -> ReceiveOutcome:
    log.warning("routing_key_unknown", provider=envelope.provider, kind=envelope.kind)
    log.count("UnknownNumber", Provider=envelope.provider)
    return "routing_key_unknown"


def _insert_once(tx: Transaction, message: NewMessage) -> tuple[StoredMessage, bool]:
    stored = store.insert_message(tx, message)
    if stored is not None:
        return stored, True
    return store.get_message_by_provider_id(tx, message.binding_id, message.provider_message_id), False


def _send_wakeup(
    turns: FifoQueue,
    tenant_id: UUID,
    received: StoredMessage,
    *,
    is_new: bool,
    now: datetime,
    is_checked: bool = False,
) -> None:
    """Wake the session; a second wake-up for the same message needs an id of its own, or the queue would drop it."""
    again = "" if is_new else f":{now.isoformat()}"
    wakeup = SessionWakeup(tenant_id, received.session_id)
    message = wakeup.to_queue_message(f"{received.id}{again}", received.wake_group)
    turns.send([replace(message, is_checked=is_checked)])
