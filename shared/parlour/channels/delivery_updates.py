"""What the provider says became of our messages, and what that moves.

News never move a row back, except that a message reported as failed may turn out to be delivered. They may overtake
the commit that says under which id the provider took the message: such news are kept, and whoever comes second finds
what the other has written, because both look only after they have committed.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from parlour.channels import outbox, store
from parlour.channels.envelope import DeliveryStatus, Envelope
from parlour.channels.store import DeliveryUpdate, PartConfirmation
from parlour.infra import log
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queues import QueueMessage
from parlour.principal import Principal

_PRIOR_STATES: dict[str, tuple[str, ...]] = {
    "failed": ("sent", "unknown"),
    "held": ("sent", "unknown"),
    "delivered": ("sent", "unknown", "failed"),
    "read": ("sent", "unknown", "failed", "delivered"),
}
"""From which states the provider's news move a row, in the order in which they may be told. A row is `sent` as soon
as the provider took it, so that `enqueued` and `sent` say nothing new."""

_WINDOW_CLOSED_CODES = frozenset({"470", "131047", "1004", "1005", "1006", "1007", "1008"})
"""WhatsApp's codes, old and new, for free text more than a day after the user last wrote, and Gupshup's own."""

_PART_NUMBER = re.compile(r"[1-9][0-9]{0,3}")
_MAX_PROBLEM_CHARS = 500


def make_callback_data(outbox_id: UUID, number: int) -> str:
    """Return what is sent with one part of a reply, so that the provider's status updates name it."""
    return f"{outbox_id}:{number}"


def apply_status(
    principal: Principal,
    database: Database,
    envelope: Envelope,
    now: datetime,
    wake: Callable[[QueueMessage], object] = lambda _message: None,
) -> bool:
    """Move the reply that a status envelope is about; whether that changed anything.

    False for an id that is not ours, for news that come late or twice, and for what `sent` covers already.
    A status that carries our callback settles its part even when nobody ever learnt the part's id. If there is more
    to send after it, `wake` puts that on the queue, once it is committed: the sweep may be a day away. When that
    raises, the envelope comes again, and so does the wake-up.
    """
    about, named = envelope.provider_message_id, _parse_callback_data(str(envelope.metadata.get("callback", "")))
    news = _to_update(envelope.status, str(envelope.metadata.get("code", "")), envelope.problem, now)

    def record(tx: Transaction) -> tuple[bool, bool, PartConfirmation | None]:
        confirmed = _confirm_part(tx, named, about, news, now) if named else None
        moved = _apply_update(tx, about, news)
        kept = not (moved or confirmed) and news.state in _PRIOR_STATES and store.add_pending_update(tx, about, news)
        return moved or (confirmed is not None and confirmed.is_new), kept, confirmed

    changed, kept, confirmed = database.run(principal, record)
    if named and confirmed and confirmed.state == "pending":
        once = f"{named[0]}:confirmed:{named[1]}"
        wake(outbox.wakeup_message(principal.tenant_id, confirmed.session_id, named[0], once))
    if kept:
        changed = apply_pending_updates(principal, database, [about])
    if changed and news.state in {"failed", "held"}:
        log.count("FailedSend" if news.state == "failed" else "HeldReply")
    return changed


def apply_pending_updates(principal: Principal, database: Database, provider_message_ids: Sequence[str]) -> bool:
    """Apply the news that came before their messages were known; call it once that is committed."""
    order = list(_PRIOR_STATES)

    def apply(tx: Transaction) -> bool:
        changed = 0
        for message_id in provider_message_ids:
            early = sorted(store.pop_pending_updates(tx, message_id), key=lambda news: order.index(news.state))
            changed += sum(_apply_update(tx, message_id, news) for news in early)
        return changed > 0

    return database.run(principal, apply)


def _to_update(status: DeliveryStatus, code: str, problem: str, now: datetime) -> DeliveryUpdate:
    if status != "failed":
        return DeliveryUpdate(status, None, now)
    why = (problem or "the provider gave no reason")[:_MAX_PROBLEM_CHARS]
    return DeliveryUpdate("held" if code in _WINDOW_CLOSED_CODES else "failed", why, now)


def _apply_update(tx: Transaction, provider_message_id: str, update: DeliveryUpdate) -> bool:
    movable = _PRIOR_STATES.get(update.state)
    return bool(movable) and store.apply_update(tx, provider_message_id, update, movable or ())


def _confirm_part(
    tx: Transaction, part: tuple[UUID, int], provider_message_id: str, update: DeliveryUpdate, now: datetime
) -> PartConfirmation | None:
    outbox_id, number = part
    is_good = update.state not in {"failed", "held"}
    confirmed = store.confirm_part(tx, outbox_id, number, provider_message_id, now, is_good=is_good)
    if confirmed and confirmed.is_new:
        log.info("delivery_confirmed", outbox_id=outbox_id, part=number, state=confirmed.state)
    return confirmed


def _parse_callback_data(callback_data: str) -> tuple[UUID, int] | None:
    outbox_id, _, number = callback_data.partition(":")
    try:
        return (UUID(outbox_id), int(number)) if _PART_NUMBER.fullmatch(number) else None
    except ValueError:
        return None
