"""Sending one reply, once.

The row is `sending`, committed, before the provider is called; it moves on after. Its sender leases it for seconds, and
renews the lease while it lives. A row that is found in `sending` without a lease belongs to a sender that died or
stalled in the middle: nobody knows whether the provider took the message, so it becomes `unknown`, is counted for the
operator's alarm, and is not sent again. Where the provider hands back what was given along with a message, its news
settle such a row (`statuses`).

Every sender has an id of its own: work whose answer was lost is found again by it, and a sender that comes back
late, after somebody else has gone on with the row, sees by it that nothing is left for it to do.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol
from uuid import UUID

from parlour.channels import delivery_updates, outgoing_message, store, templates
from parlour.channels.buttons import MAX_BODY_UNITS, Button, MessagePart, add_numbered_options, are_valid_buttons
from parlour.channels.outgoing_message import ChannelAccount, OutgoingMessage
from parlour.channels.store import OutboxReply
from parlour.channels.templates import FilledTemplate
from parlour.channels.whatsapp_format import MAX_MESSAGE_UNITS, Footnote, format_whatsapp
from parlour.infra import log
from parlour.infra.errors import (
    DatabaseUnavailable,
    DeliveryUnknown,
    InvalidRequest,
    LeaseHeld,
    Misconfigured,
    ParlourError,
    ProviderRejected,
    ProviderUnavailable,
    RetryError,
    WindowClosed,
)
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.jobs import work_due
from parlour.jobs.renewal import lease_end, renew_lease
from parlour.jobs.work_due import SWEEP_DELAY
from parlour.principal import Principal
from parlour.text.citation_markers import number_for_reader, reader_number

__all__ = [
    "MAX_ATTEMPTS",
    "MAX_BLOCKED_TIME",
    "ChannelProvider",
    "OutgoingMessage",
    "Providers",
    "SendResult",
    "send_reply",
]

MAX_ATTEMPTS = 7
"""Tries before a reply that the provider never takes is failed: about five minutes with the queue's back-off.
Fewer than the queue's maxReceiveCount, so that a provider's outage ends in a state and not among the dead letters."""

MAX_BLOCKED_TIME = timedelta(hours=24)
"""How long a reply waits for a key that the provider refuses to be mended, before it is failed."""

_MAX_RETRY_PAUSE = timedelta(hours=1)
_MAX_PROBLEM_CHARS = 500

_STATE_AFTER_ERROR: tuple[tuple[type[ParlourError], str, str], ...] = (
    (ProviderUnavailable, "failed", "FailedSend"),
    (WindowClosed, "held", "HeldReply"),
    (ProviderRejected, "failed", "FailedSend"),
    (DeliveryUnknown, "unknown", "UnknownSend"),
)
"""What a problem of the provider's makes of the row, and the metric; any other leaves it pending."""


class ChannelProvider(Protocol):
    """A way out.

    `deliver` returns the provider's id of the message it took, or raises ProviderUnavailable (surely not taken,
    may be tried again), WindowClosed (takes no free text to this user any more), ProviderRejected (refused for good),
    Misconfigured (does not admit us until somebody mends the key) or DeliveryUnknown (may or may not have been taken).
    """

    def deliver(self, outgoing: OutgoingMessage, /) -> str: ...


type Providers = Mapping[str, ChannelProvider]
"""The ways out by the name that a binding's settings give as `provider`."""


@dataclass(frozen=True, slots=True)
class SendResult:
    """The state of the row now (`not_found`: it is gone) and how many parts the provider has taken.

    retry_at  when a row that waits for its key is tried again; the caller sends the wake-up.
    """

    state: str
    parts_sent: int
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _SendAttempt:
    """One row that is being sent: what, from where, and under which sender's id."""

    reply: OutboxReply
    account: ChannelAccount
    parts: Sequence[MessagePart]
    template: FilledTemplate | None
    attempt_id: UUID

    def part_message(self, number: int) -> OutgoingMessage:
        """Return the message of part `number`, counted from 1."""
        callback = delivery_updates.make_callback_data(self.reply.id, number)
        return self.account.make_message(self.reply.recipient, self.parts[number - 1], callback, self.template)


@dataclass(frozen=True, slots=True)
class _AttemptRecorder:
    """Where it is written down what became of a row. Every write may be repeated."""

    principal: Principal
    database: Database
    attempt: _SendAttempt
    now: datetime

    def record_part_sent(self, number: int, provider_message_id: str) -> bool:
        """Note it; whether the row is still this sender's."""
        row, sender = self.attempt.reply.id, self.attempt.attempt_id
        return self.database.run(
            self.principal, lambda tx: store.record_part_sent(tx, row, number, provider_message_id, sender, self.now)
        )

    def end_attempt(self, state: str, problem: ParlourError, taken: int) -> bool:
        """End this attempt with `taken` parts in all; False when another sender has the row."""
        reply, sender = self.attempt.reply, self.attempt.attempt_id
        why = f"{problem.code}: {problem}"[:_MAX_PROBLEM_CHARS]
        ended = self.database.run(
            self.principal, lambda tx: store.end_attempt(tx, reply, state, why, sender, taken, self.now)
        )
        ids: dict[str, log.Loggable] = {"outbox_id": reply.id, "attempts": reply.attempts + 1}
        if state == "pending":
            log.warning("delivery_retry_scheduled", code=problem.code, **ids)
            log.count("WaitingReply")
        else:
            log.error("delivery_failed", problem, state=state if ended else "taken_over", **ids)
        return ended

    def reschedule_blocked(self, problem: ParlourError, retry_at: datetime) -> bool:
        """End this attempt without counting it, and reschedule the row; False when another sender has it."""
        reply, sender = self.attempt.reply, self.attempt.attempt_id
        why = f"{problem.code}: {problem}"[:_MAX_PROBLEM_CHARS]
        is_ours = self.database.run(
            self.principal, lambda tx: store.reschedule_blocked(tx, reply, why, sender, self.now, retry_at)
        )
        log.count("WaitingReply")
        log.error(
            "delivery_blocked", problem, outbox_id=reply.id, session_id=reply.session_id, again=retry_at.isoformat()
        )
        return is_ours

    def apply_pending_updates(self, provider_message_ids: Sequence[str]) -> None:
        """Apply the news that overtook us; they can wait, since nothing else depends on them."""
        try:
            delivery_updates.apply_pending_updates(self.principal, self.database, provider_message_ids)
        except RetryError as problem:
            log.warning("pending_updates_deferred", code=problem.code, outbox_id=self.attempt.reply.id)


def send_reply(
    principal: Principal,
    database: Database,
    providers: Providers,
    outbox_id: UUID,
    attempt_id: UUID,
    now: datetime,
    seconds_left: SecondsLeft,
) -> SendResult:
    """Send what is left of one outbox row, or settle what became of it. `attempt_id` is a fresh id.

    Raises a RetryError when the queue should deliver again: the row is pending then, or another worker is sending it
    (LeaseHeld). Everything else ends in a state and returns it. A reply whose key is missing or refused, or whose
    binding cannot send, waits for a day at most.
    """
    leased_until = lease_end(now, seconds_left)
    begun = database.run(principal, partial(_begin_attempt, providers, outbox_id, attempt_id, now, leased_until))
    if isinstance(begun, SendResult):
        return begun
    recorder = _AttemptRecorder(principal, database, begun, now)
    ids: list[str] = []
    start = time.monotonic()
    try:
        with renew_lease(
            database,
            principal.tenant_id,
            lambda tx, until: store.renew_lease(tx, outbox_id, attempt_id, until),
            lambda: now + timedelta(seconds=time.monotonic() - start),
            seconds_left,
        ):
            is_ours = _send_parts(recorder, providers[begun.account.provider], ids)
    except DatabaseUnavailable:
        raise  # the row stays `sending`: what went out could not be written down, so nobody will know
    except ParlourError as problem:
        return _record_error(recorder, problem, recorder.attempt.reply.parts_sent + len(ids))
    reply, taken = recorder.attempt.reply, recorder.attempt.reply.parts_sent + len(ids)
    if not is_ours:
        log.warning("delivery_taken_over", outbox_id=reply.id, parts=len(ids))
        return SendResult("taken_over", taken)
    recorder.apply_pending_updates(ids)
    log.info("delivery_sent", outbox_id=reply.id, session_id=reply.session_id, parts=taken)
    return SendResult("sent", taken)


def _begin_attempt(
    providers: Providers, outbox_id: UUID, attempt_id: UUID, now: datetime, leased_until: datetime, tx: Transaction
) -> _SendAttempt | SendResult:
    """Take the row for this sender, or settle it."""
    reply = store.lock_reply(tx, outbox_id)
    if reply is None:
        log.warning("delivery_not_found", outbox_id=outbox_id)
        return SendResult("not_found", 0)
    is_open = reply.state in {"pending", "sending"}
    is_ours = reply.state == "sending" and reply.attempt_id == attempt_id  # repeated after a commit without an answer
    if is_open and not is_ours and not work_due.lease(tx, "outbox", outbox_id, leased_until, now):
        raise LeaseHeld
    if not is_ours and (settled := _result_if_ended(tx, reply, now)):
        return settled
    try:
        account = _parse_account(reply, providers)
    except Misconfigured as problem:
        return _reschedule_misconfigured(tx, reply, problem, now)
    template = FilledTemplate.from_json(reply.template, reply.text) if reply.template else None
    if template:
        parts = [MessagePart(template.text)]
    elif outgoing_message.is_window_open(reply.last_inbound_at, now):
        parts = _window_parts(reply)
    else:
        template, parts = _template_parts(reply)
        if template is None:
            why = "the user last wrote more than a day ago, and there is no template that the reply fits into"
            store.end_attempt(tx, reply, "held", f"{WindowClosed.code}: {why}", reply.attempt_id, reply.parts_sent, now)
            log.warning("delivery_held", outbox_id=reply.id, session_id=reply.session_id)
            log.count("HeldReply")
            return SendResult("held", reply.parts_sent)
    if hopeless := _result_if_unsendable(tx, reply, len(parts), now):
        return hopeless
    if not is_ours:
        store.begin_attempt(tx, reply.id, len(parts), attempt_id)
    else:
        reply = replace(reply, attempts=reply.attempts - 1)  # this try is counted in it already
    return _SendAttempt(reply, account, parts, template, attempt_id)


def _window_parts(reply: OutboxReply) -> list[MessagePart]:
    """Return the messages of a reply within the window, its buttons below the last."""
    options = [Button.from_json(stored) for stored in reply.buttons]
    if not are_valid_buttons(options):
        return [MessagePart(text) for text in _format_texts(reply, options, MAX_MESSAGE_UNITS)]
    *texts, last = _format_texts(reply, [], MAX_BODY_UNITS) or [""]
    return [*(MessagePart(text) for text in texts), MessagePart(last, options)] if last else []


def _template_parts(reply: OutboxReply) -> tuple[FilledTemplate | None, list[MessagePart]]:
    """Return the template for after the window, filled with the reply; None when it cannot be sent in one."""
    options = [Button.from_json(stored) for stored in reply.buttons]
    has_buttons = are_valid_buttons(options) and len(options) == templates.QUESTION_BUTTONS
    question = templates.find_template(reply.channel_settings, "question") if has_buttons else None
    template = question or templates.find_template(reply.channel_settings, "reply")
    if template is None or reply.parts_sent:
        return None, []
    texts = _format_texts(reply, [] if question else options, MAX_MESSAGE_UNITS)
    try:
        filled = template.fill([" ".join(texts)])
    except InvalidRequest:
        return None, []
    return filled, [MessagePart(filled.text, options if question else [])]


def _format_texts(reply: OutboxReply, options: Sequence[Button], max_units: int) -> list[str]:
    text = add_numbered_options(number_for_reader(reply.text, reply.cited_numbers), options)
    footnotes = [
        Footnote(
            reader_number(int(str(citation["number"])), reply.cited_numbers),
            str(citation["title"]),
            str(citation["locator"]),
        )
        for citation in reply.citations
    ]
    footnotes.sort(key=lambda footnote: footnote.number)
    return format_whatsapp(text, footnotes, max_units)


def _parse_account(reply: OutboxReply, providers: Providers) -> ChannelAccount:
    account = outgoing_message.parse_account(reply.channel, reply.channel_settings, reply.secret_reference)
    if account.provider not in providers:
        raise Misconfigured(f"channels.{reply.channel}.provider {account.provider} is not available here")
    return account


def _reschedule_misconfigured(tx: Transaction, reply: OutboxReply, problem: Misconfigured, now: datetime) -> SendResult:
    """Reschedule a reply whose binding cannot send, as one whose key is refused: for a day at most."""
    log.count("RefusedAccess")
    log.error("delivery_blocked", problem, outbox_id=reply.id, session_id=reply.session_id)
    why = f"{problem.code}: {problem}"[:_MAX_PROBLEM_CHARS]
    retry_at = _next_blocked_attempt(reply, now)
    if retry_at is None:
        store.end_attempt(tx, reply, "failed", why, reply.attempt_id, reply.parts_sent, now)
        log.count("FailedSend")
        return SendResult("failed", reply.parts_sent)
    store.reschedule_blocked(tx, reply, why, reply.attempt_id, now, retry_at)
    log.count("WaitingReply")
    return SendResult("pending", reply.parts_sent, retry_at)


def _next_blocked_attempt(reply: OutboxReply, now: datetime) -> datetime | None:
    """Return when a blocked reply is tried again: later each time; None after a day."""
    waited = now - reply.waiting_since
    return None if waited >= MAX_BLOCKED_TIME else now + min(max(waited, SWEEP_DELAY), _MAX_RETRY_PAUSE)


def _result_if_ended(tx: Transaction, reply: OutboxReply, now: datetime) -> SendResult | None:
    """Return the result for a row that is not to be sent any more; None for one that is."""
    if reply.state == "pending":
        if reply.is_obsolete or (reply.is_interim and not outgoing_message.is_window_open(reply.last_inbound_at, now)):
            return _dismiss_interim_line(tx, reply, "it would come too late to tell anybody to wait", now)
        return None
    if reply.state != "sending":
        return SendResult(reply.state, reply.parts_sent)
    return _mark_unknown(tx, reply, "a sender stopped in the middle", now)


def _result_if_unsendable(tx: Transaction, reply: OutboxReply, parts: int, now: datetime) -> SendResult | None:
    """Return the result for a row that cannot be sent as it is; None for one that can."""
    if not parts:
        store.end_attempt(tx, reply, "failed", "there is no text to send", reply.attempt_id, 0, now)
        return SendResult("failed", 0)
    if reply.parts_sent and reply.part_count != parts:
        return _mark_unknown(tx, reply, "the text falls into other parts than when sending began", now)
    return None


def _dismiss_interim_line(tx: Transaction, reply: OutboxReply, why: str, now: datetime) -> SendResult:
    """End a line that nobody needs any more, or decides about."""
    store.end_attempt(tx, reply, "failed", why, reply.attempt_id, reply.parts_sent, now)
    log.info("interim_line_dismissed", outbox_id=reply.id, session_id=reply.session_id)
    return SendResult("failed", reply.parts_sent)


def _mark_unknown(tx: Transaction, reply: OutboxReply, why: str, now: datetime) -> SendResult:
    if reply.is_interim:
        return _dismiss_interim_line(tx, reply, why, now)
    store.end_attempt(tx, reply, "unknown", why, reply.attempt_id, reply.parts_sent, now)
    log.error("delivery_unknown", outbox_id=reply.id, session_id=reply.session_id, attempts=reply.attempts)
    log.count("UnknownSend")
    return SendResult("unknown", reply.parts_sent)


def _send_parts(recorder: _AttemptRecorder, provider: ChannelProvider, ids: list[str]) -> bool:
    """Part after part; False when somebody else has gone on with the row before the last."""
    first, last = recorder.attempt.reply.parts_sent + 1, len(recorder.attempt.parts)
    for number in range(first, last + 1):
        ids.append(provider.deliver(recorder.attempt.part_message(number)))
        if not recorder.record_part_sent(number, ids[-1]) and number < last:
            return False
    return True


def _record_error(recorder: _AttemptRecorder, problem: ParlourError, parts_sent: int) -> SendResult:
    """Record the state and the metric of an error; raise it when the delivery can be tried again."""
    is_retryable = isinstance(problem, ProviderUnavailable) and recorder.attempt.reply.attempts + 1 < MAX_ATTEMPTS
    for kind, state, metric in _STATE_AFTER_ERROR:
        if isinstance(problem, kind) and not is_retryable:
            end_state = "failed" if recorder.attempt.reply.is_interim else state
            if not recorder.end_attempt(end_state, problem, parts_sent):
                return SendResult("taken_over", parts_sent)
            log.count(metric if end_state == state else "FailedSend")
            return SendResult(end_state, parts_sent)
    if isinstance(problem, Misconfigured):
        return _reschedule_blocked(recorder, problem, parts_sent)
    recorder.end_attempt("pending", problem, parts_sent)
    raise problem


def _reschedule_blocked(recorder: _AttemptRecorder, problem: Misconfigured, parts_sent: int) -> SendResult:
    """Nothing is wrong with the reply: it waits for its key, longer each time, and not for ever."""
    log.count("RefusedAccess")
    again = _next_blocked_attempt(recorder.attempt.reply, recorder.now)
    if again is None:
        if not recorder.end_attempt("failed", problem, parts_sent):
            return SendResult("taken_over", parts_sent)
        log.count("FailedSend")
        return SendResult("failed", parts_sent)
    return (
        SendResult("pending", parts_sent, again)
        if recorder.reschedule_blocked(problem, again)
        else SendResult("taken_over", parts_sent)
    )
