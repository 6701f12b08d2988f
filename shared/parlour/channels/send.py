"""Sending one reply, once.

The row is `sending`, committed, before the provider is called; it moves on after. A row that is found in
`sending` belongs to a sender that died or stalled in the middle: nobody knows whether the provider took the
message, so it becomes `unknown`, is counted for the operator's alarm, and is not sent again. Where the provider
hands back what was given along with a message, its news settle such a row (`statuses`).

Every sender has an id of its own: work whose answer was lost is found again by it, and a sender that comes back
late, after somebody else has gone on with the row, sees by it that nothing is left for it to do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol
from uuid import UUID

from parlour.channels import outgoing, statuses, store
from parlour.channels.format import Footnote, format_whatsapp
from parlour.channels.outgoing import Account, Outgoing, Template
from parlour.channels.store import Reply
from parlour.infra import log
from parlour.infra.errors import (
    DatabaseUnavailable,
    DeliveryUnknown,
    Misconfigured,
    ParlourError,
    ProviderRejected,
    ProviderUnavailable,
    RetryError,
    WindowClosed,
)
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.jobs.work_due import GRACE
from parlour.principal import Principal

__all__ = ["LONGEST_PUT_OFF", "MOST_ATTEMPTS", "ChannelProvider", "Outgoing", "Providers", "Sent", "send"]

MOST_ATTEMPTS = 7
"""Tries before a reply that the provider never takes is failed: about five minutes with the queue's back-off.
Fewer than the queue's maxReceiveCount, so that a provider's outage ends in a state and not among the dead letters."""

LONGEST_PUT_OFF = timedelta(hours=24)
"""How long a reply waits for a key that the provider refuses to be mended, before it is failed."""

_LONGEST_PAUSE = timedelta(hours=1)
_LONGEST_PROBLEM = 500

_ENDINGS: tuple[tuple[type[ParlourError], str, str], ...] = (
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

    def deliver(self, outgoing: Outgoing, /) -> str: ...


type Providers = Mapping[str, ChannelProvider]
"""The ways out by the name that a binding's settings give as `provider`."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Where the row is now (`gone`: there is none any more) and how many parts the provider has taken.

    again: when it is tried again, for a row that is put off until its key is mended; its wake-up is the caller's.
    """

    state: str
    parts: int
    again: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Sending:
    """One row that is being sent: what, from where, and under which sender's id."""

    reply: Reply
    account: Account
    texts: Sequence[str]
    template: Template | None
    sender: UUID

    def part(self, number: int) -> Outgoing:
        """The message of part `number`, counted from 1."""
        callback = statuses.callback(self.reply.id, number)
        return self.account.outgoing(self.reply.recipient, self.texts[number - 1], callback, self.template)


@dataclass(frozen=True, slots=True)
class _Ledger:
    """Where it is written down what became of a row. Every write may be repeated."""

    principal: Principal
    database: Database
    sending: _Sending
    now: datetime

    def part_taken(self, number: int, provider_message_id: str) -> bool:
        """Note it; whether the row is still this sender's."""
        row, sender = self.sending.reply.id, self.sending.sender
        return self.database.run(
            self.principal, lambda tx: store.part_taken(tx, row, number, provider_message_id, sender, self.now)
        )

    def end(self, state: str, problem: ParlourError, taken: int) -> bool:
        """This try is over with `taken` parts in all; False when the row has gone on without us."""
        reply, sender = self.sending.reply, self.sending.sender
        why = f"{problem.code}: {problem}"[:_LONGEST_PROBLEM]
        ended = self.database.run(self.principal, lambda tx: store.end(tx, reply, state, why, sender, taken, self.now))
        ids: dict[str, log.Loggable] = {"outbox_id": reply.id, "attempts": reply.attempts + 1}
        if state == "pending":
            log.warning("reply_waits", code=problem.code, **ids)
        else:
            log.error("reply_not_sent", problem, state=state if ended else "overtaken", **ids)
        return ended

    def put_off(self, problem: ParlourError, again: datetime) -> bool:
        """This try counts for nothing; the row is due `again`. False when it has gone on without us."""
        reply, sender = self.sending.reply, self.sending.sender
        why = f"{problem.code}: {problem}"[:_LONGEST_PROBLEM]
        is_ours = self.database.run(self.principal, lambda tx: store.put_off(tx, reply, why, sender, self.now, again))
        log.error("reply_put_off", problem, outbox_id=reply.id, session_id=reply.session_id, again=again.isoformat())
        return is_ours

    def consult(self, provider_message_ids: Sequence[str]) -> None:
        """Apply the news that overtook us; they can wait, since nothing else depends on them."""
        try:
            statuses.consult(self.principal, self.database, provider_message_ids)
        except RetryError as problem:
            log.warning("early_news_left", code=problem.code, outbox_id=self.sending.reply.id)


def send(
    principal: Principal, database: Database, providers: Providers, outbox_id: UUID, sender: UUID, now: datetime
) -> Sent:
    """Send what is left of one outbox row, or settle what became of it. `sender` is a fresh id.

    Raises a RetryError when the queue should deliver again (the row is pending then) and Misconfigured when the
    binding has to be mended first (likewise). Everything else ends in a state and returns it: also a key that the
    provider refuses, with which the row is put off for a day at most.
    """
    begun = database.run(principal, partial(_begin, providers, outbox_id, sender, now))
    if isinstance(begun, Sent):
        return begun
    return _deliver(_Ledger(principal, database, begun, now), providers[begun.account.provider])


def _begin(providers: Providers, outbox_id: UUID, sender: UUID, now: datetime, tx: Transaction) -> _Sending | Sent:
    """Take the row for this sender, or settle it."""
    reply = store.take(tx, outbox_id)
    if reply is None:
        log.warning("reply_gone", outbox_id=outbox_id)
        return Sent("gone", 0)
    is_ours = reply.state == "sending" and reply.sent_by == sender
    if not is_ours and (settled := _settled(tx, reply, now)):
        return settled
    account = outgoing.account(reply.channel, reply.settings, reply.secret)
    if account.provider not in providers:
        raise Misconfigured(f"channels.{reply.channel}.provider {account.provider} is not available here")
    texts = format_whatsapp(reply.text, [_footnote(citation) for citation in reply.citations])
    template = None
    if not outgoing.is_open(reply.heard_at, now):
        template = account.template
        parameter = outgoing.as_parameter(texts) if template and not reply.parts_sent else None
        if parameter is None:
            return _held(tx, reply, now)
        texts = [parameter] if parameter else []
    if hopeless := _hopeless(tx, reply, len(texts), now):
        return hopeless
    if not is_ours:
        store.begin(tx, reply.id, len(texts), sender)
    else:
        reply = replace(reply, attempts=reply.attempts - 1)  # this try is counted in it already
    return _Sending(reply, account, texts, template, sender)


def _settled(tx: Transaction, reply: Reply, now: datetime) -> Sent | None:
    """The answer for a row that is not to be sent any more; None for one that is."""
    if reply.state == "pending":
        return None
    if reply.state != "sending":
        return Sent(reply.state, reply.parts_sent)
    return _unknown(tx, reply, "a sender stopped in the middle", now)


def _hopeless(tx: Transaction, reply: Reply, parts: int, now: datetime) -> Sent | None:
    """The answer for a row that cannot be sent as it is; None for one that can."""
    if not parts:
        store.end(tx, reply, "failed", "there is no text to send", reply.sent_by, 0, now)
        return Sent("failed", 0)
    if reply.parts_sent and reply.parts != parts:
        return _unknown(tx, reply, "the text falls into other parts than when sending began", now)
    return None


def _unknown(tx: Transaction, reply: Reply, why: str, now: datetime) -> Sent:
    store.end(tx, reply, "unknown", why, reply.sent_by, reply.parts_sent, now)
    log.error("reply_unknown", outbox_id=reply.id, session_id=reply.session_id, attempts=reply.attempts)
    log.count("UnknownSend")
    return Sent("unknown", reply.parts_sent)


def _held(tx: Transaction, reply: Reply, now: datetime) -> Sent:
    """The channel takes no free text any more, and there is no template that this fits into."""
    why = "the user last wrote more than a day ago, and there is no template that the reply fits into"
    store.end(tx, reply, "held", f"{WindowClosed.code}: {why}", reply.sent_by, reply.parts_sent, now)
    log.warning("reply_held", outbox_id=reply.id, session_id=reply.session_id)
    log.count("HeldReply")
    return Sent("held", reply.parts_sent)


def _deliver(ledger: _Ledger, provider: ChannelProvider) -> Sent:
    """Send what is left, and write down how that ended. `ids` are the provider's, of the parts it took now."""
    ids: list[str] = []
    try:
        is_ours = _send_parts(ledger, provider, ids)
    except DatabaseUnavailable:
        raise  # the row stays `sending`: what went out could not be written down, so nobody will know
    except ParlourError as problem:
        return _broken_off(ledger, problem, ledger.sending.reply.parts_sent + len(ids))
    reply, taken = ledger.sending.reply, ledger.sending.reply.parts_sent + len(ids)
    if not is_ours:
        log.warning("reply_overtaken", outbox_id=reply.id, parts=len(ids))
        return Sent("overtaken", taken)
    ledger.consult(ids)
    log.info("reply_sent", outbox_id=reply.id, session_id=reply.session_id, parts=taken)
    return Sent("sent", taken)


def _send_parts(ledger: _Ledger, provider: ChannelProvider, ids: list[str]) -> bool:
    """Part after part; False when somebody else has gone on with the row before the last."""
    first, last = ledger.sending.reply.parts_sent + 1, len(ledger.sending.texts)
    for number in range(first, last + 1):
        ids.append(provider.deliver(ledger.sending.part(number)))
        if not ledger.part_taken(number, ids[-1]) and number < last:
            return False
    return True


def _broken_off(ledger: _Ledger, problem: ParlourError, taken: int) -> Sent:
    """The state and the metric that a problem ends in; what can be tried again is raised."""
    for kind, state, metric in _ENDINGS:
        if isinstance(problem, kind) and not _comes_again(ledger, problem):
            if not ledger.end(state, problem, taken):
                return Sent("overtaken", taken)
            log.count(metric)
            return Sent(state, taken)
    if isinstance(problem, Misconfigured):
        return _put_off(ledger, problem, taken)
    ledger.end("pending", problem, taken)
    raise problem


def _put_off(ledger: _Ledger, problem: Misconfigured, taken: int) -> Sent:
    """Nothing is wrong with the reply: it waits for its key, longer each time, and not for ever."""
    log.count("RefusedAccess")
    now, waited = ledger.now, ledger.now - ledger.sending.reply.since
    if waited >= LONGEST_PUT_OFF:
        if not ledger.end("failed", problem, taken):
            return Sent("overtaken", taken)
        log.count("FailedSend")
        return Sent("failed", taken)
    again = now + min(max(waited, GRACE), _LONGEST_PAUSE)
    return Sent("pending", taken, again) if ledger.put_off(problem, again) else Sent("overtaken", taken)


def _comes_again(ledger: _Ledger, problem: ParlourError) -> bool:
    return isinstance(problem, ProviderUnavailable) and ledger.sending.reply.attempts + 1 < MOST_ATTEMPTS


def _footnote(citation: JsonObject) -> Footnote:
    return Footnote(int(str(citation["number"])), str(citation["title"]), str(citation["locator"]))
