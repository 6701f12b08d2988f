"""Sending one reply, once.

The row is `sending`, committed, before the provider is called; it moves on after. A row that is found in
`sending` belongs to a sender that died or stalled in the middle: nobody knows whether the provider took the
message, so it becomes `unknown`, is counted for the operator's alarm, and is not sent again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from parlour.channels import store
from parlour.channels.format import Footnote, format_whatsapp
from parlour.channels.store import Reply
from parlour.infra import log
from parlour.infra.errors import (
    DatabaseUnavailable,
    DeliveryUnknown,
    Misconfigured,
    ParlourError,
    ProviderRejected,
    ProviderUnavailable,
)
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal

MOST_ATTEMPTS = 7
"""Tries before a reply that the provider never takes is failed: about five minutes with the queue's back-off.
Fewer than the queue's maxReceiveCount, so that a provider's outage ends in a state and not among the dead letters."""

_LONGEST_PROBLEM = 500


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message for a provider: to whom, what, from which of our numbers, and where the key is kept."""

    recipient: str
    text: str
    app: str
    source: str
    secret: str


class ChannelProvider(Protocol):
    """A way out.

    `deliver` returns the provider's id of the message it took, or raises ProviderUnavailable (surely not taken,
    may be tried again), ProviderRejected (refused for good) or DeliveryUnknown (may or may not have been taken).
    """

    @property
    def name(self) -> str: ...

    def deliver(self, outgoing: Outgoing, /) -> str: ...


@dataclass(frozen=True, slots=True)
class Sent:
    """Where the row is now (`gone`: there is none any more) and how many parts the provider has taken."""

    state: str
    parts: int


@dataclass(frozen=True, slots=True)
class _Sending:
    """One row being sent: who acts, where it is written down, and what is sent."""

    principal: Principal
    database: Database
    reply: Reply
    texts: list[str]
    now: datetime

    def write(self, change: Callable[[Transaction], None]) -> None:
        """Commit what just became known. Tried twice, on a fresh connection: it cannot be found out again."""
        try:
            self._write(change)
        except DatabaseUnavailable:
            self._write(change)

    def _write(self, change: Callable[[Transaction], None]) -> None:
        with self.database.transaction(self.principal) as tx:
            change(tx)

    def end(self, state: str, problem: ParlourError) -> None:
        why = f"{problem.code}: {problem}"[:_LONGEST_PROBLEM]
        self.write(lambda tx: store.end(tx, self.reply.id, state, why, self.now))
        ids: dict[str, log.Loggable] = {"outbox_id": self.reply.id, "attempts": self.reply.attempts + 1}
        if state == "pending":
            log.warning("reply_waits", code=problem.code, **ids)
        else:
            log.error("reply_not_sent", problem, state=state, **ids)


def send(principal: Principal, database: Database, provider: ChannelProvider, outbox_id: UUID, now: datetime) -> Sent:
    """Send what is left of one outbox row, or settle what became of it.

    Raises a RetryError when the queue should deliver again (the row is pending then) and Misconfigured when the
    binding or its secret has to be mended first (likewise). Everything else ends in a state and returns it.
    """
    with database.transaction(principal) as tx:
        reply = store.take(tx, outbox_id)
        if reply is None:
            log.warning("reply_gone", outbox_id=outbox_id)
            return Sent("gone", 0)
        if settled := _settled(tx, reply, now):
            return settled
        outgoing = _outgoing(reply, provider.name)
        texts = format_whatsapp(reply.text, [_footnote(citation) for citation in reply.citations])
        if hopeless := _hopeless(tx, reply, len(texts), now):
            return hopeless
        store.begin(tx, reply.id, len(texts))
    return _deliver(_Sending(principal, database, reply, texts, now), provider, outgoing)


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
        store.end(tx, reply.id, "failed", "there is no text to send", now)
        return Sent("failed", 0)
    if reply.parts_sent and reply.parts != parts:
        return _unknown(tx, reply, "the text falls into other parts than when sending began", now)
    return None


def _unknown(tx: Transaction, reply: Reply, why: str, now: datetime) -> Sent:
    store.end(tx, reply.id, "unknown", why, now)
    log.error("reply_unknown", outbox_id=reply.id, session_id=reply.session_id, attempts=reply.attempts)
    log.count("UnknownSend")
    return Sent("unknown", reply.parts_sent)


def _deliver(sending: _Sending, provider: ChannelProvider, outgoing: Callable[[str], Outgoing]) -> Sent:
    taken = sending.reply.parts_sent
    try:
        for text in sending.texts[taken:]:
            provider_message_id = provider.deliver(outgoing(text))
            taken += 1
            _note_part(sending, taken, provider_message_id)
    except ProviderUnavailable as problem:
        if sending.reply.attempts + 1 < MOST_ATTEMPTS:
            sending.end("pending", problem)
            raise
        return _given_up(sending, "failed", "FailedSend", problem, taken)
    except ProviderRejected as problem:
        return _given_up(sending, "failed", "FailedSend", problem, taken)
    except DeliveryUnknown as problem:
        return _given_up(sending, "unknown", "UnknownSend", problem, taken)
    except DatabaseUnavailable:
        raise  # the row stays `sending`: what went out could not be written down, so nobody will know
    except ParlourError as problem:
        sending.end("pending", problem)
        raise
    log.info("reply_sent", outbox_id=sending.reply.id, session_id=sending.reply.session_id, parts=taken)
    return Sent("sent", taken)


def _note_part(sending: _Sending, number: int, provider_message_id: str) -> None:
    sending.write(lambda tx: store.part_taken(tx, sending.reply.id, number, provider_message_id, sending.now))


def _given_up(sending: _Sending, state: str, metric: str, problem: ParlourError, taken: int) -> Sent:
    sending.end(state, problem)
    log.count(metric)
    return Sent(state, taken)


def _outgoing(reply: Reply, provider: str) -> Callable[[str], Outgoing]:
    """How to address each part; Misconfigured names what the binding's channel lacks."""
    settings = reply.settings or {}
    app, source = settings.get("app"), settings.get("source")
    if settings.get("provider") != provider or not isinstance(app, str) or not isinstance(source, str):
        raise Misconfigured(f"the binding's channels.{reply.channel} needs provider ({provider}), app and source")
    secret = reply.secret
    if not secret:
        raise Misconfigured(f"channels.{reply.channel}.api_key must name one of the tenant's secrets")
    return lambda text: Outgoing(reply.recipient, text, app, source, secret)


def _footnote(citation: JsonObject) -> Footnote:
    return Footnote(int(str(citation["number"])), str(citation["title"]), str(citation["locator"]))
