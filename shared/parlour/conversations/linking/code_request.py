"""Somebody on the web says that a number is theirs: a code goes there, if it can be reached.

Whether it can is told to nobody: who asks hears the same sentence either way, so that numbers cannot be tried for
whether they are known here. A number is reached by free text where its owner wrote within the last day, else by the
template of the binding's channel.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from parlour.channels import outbox, outgoing_message, templates
from parlour.channels.outbox import NewDelivery, PendingReply
from parlour.conversations.linking import link_codes, store
from parlour.conversations.linking.store import CodeCounts, NewLink
from parlour.infra import log
from parlour.infra.errors import Conflict, Forbidden, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.jobs import work_due
from parlour.principal import Principal
from parlour.tenancy import users
from parlour.tenancy.bindings import Binding

PHONE_CHANNEL = "whatsapp"

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RequestedCode:
    """A code that was asked for: until when it is good, and the row of the outbox that brings it, if one does."""

    link_id: UUID
    expires_at: datetime
    pending_reply: PendingReply | None


@dataclass(frozen=True, slots=True)
class PhoneClaim:
    """A number that a visitor says is theirs, the session in which they say so, and the code to be sent there.

    address  the hash of the network address that they ask from; "" when it is not known.
    """

    session_id: UUID
    phone: str
    code: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class _CodeRequest:
    """One request. Its ids and its code are made once, because the transaction may run twice."""

    principal: Principal
    binding: Binding
    session_id: UUID
    phone: str
    address: str
    code: str
    code_hash: bytes
    link_id: UUID
    message_id: UUID
    outbox_id: UUID
    now: datetime

    @property
    def expires_at(self) -> datetime:
        return self.now + link_codes.CODE_LIFETIME


def request_code(
    principal: Principal,
    database: Database,
    binding: Binding,
    claim: PhoneClaim,
    secret: str,
    now: datetime,
) -> RequestedCode:
    """Store a code for the claimed number and its message; the caller wakes the outbox with the pending reply.

    Raises InvalidRequest for what is no number with a country code, NotFound when the binding answers no phones,
    Forbidden for anybody but a user, and Conflict when they have a number already or codes were asked for too often.
    """
    number = link_codes.parse_phone_number(claim.phone)
    if PHONE_CHANNEL not in binding.channels:
        raise NotFound("this agent has no WhatsApp channel")
    if principal.kind != "user" or principal.id is None:
        raise Forbidden("only a visitor can link a phone number")
    link_id, message_id, outbox_id = uuid7(now), uuid7(now), uuid7(now)
    asking = _CodeRequest(
        principal,
        binding,
        claim.session_id,
        number,
        claim.address,
        claim.code,
        link_codes.hash_code(secret, link_id, claim.code),
        link_id,
        message_id,
        outbox_id,
        now,
    )
    asked = database.run(principal, partial(_store_request, asking))
    log.info(
        "phone_code_requested", tenant_id=principal.tenant_id, link_id=link_id, sent=asked.pending_reply is not None
    )
    return asked


def _store_request(asking: _CodeRequest, tx: Transaction) -> RequestedCode:
    user_id = asking.principal.id
    user = store.lock_user(tx, user_id) if user_id else None
    if user is None:
        raise NotFound("this visitor no longer exists; start a new conversation")
    # A member who has a new number replaces the old one: the link ends there.
    if user.phone and (user.member_id is None or user.phone == asking.phone):
        raise Conflict(f"this conversation is already linked to the number ending in {user.phone[-4:]}")
    counts = _check_limits(asking, tx, user.id)
    contact = _enqueue_code(asking, tx, counts)
    link = NewLink(
        link_id=asking.link_id,
        user_id=user.id,
        binding_id=asking.binding.id,
        session_id=asking.session_id,
        contact_id=contact.user_id if contact else None,
        is_new=contact is not None and contact.is_new,
        message_id=asking.message_id if contact else None,
        phone=asking.phone,
        code_hash=asking.code_hash,
        expires_at=asking.expires_at,
        address=asking.address,
    )
    store.insert_link(tx, link, asking.now)
    if contact is None or contact.session_id is None:
        return RequestedCode(asking.link_id, asking.expires_at, None)
    work_due.schedule(tx, "phone_link", asking.link_id, asking.expires_at)
    return RequestedCode(asking.link_id, asking.expires_at, PendingReply(asking.outbox_id, contact.session_id, 0))


def _check_limits(asking: _CodeRequest, tx: Transaction, user_id: UUID) -> CodeCounts:
    """Refuse what is above a limit, the narrowest first; return what was counted."""
    for key in (asking.address, asking.phone):
        if key:
            store.lock_codes(tx, user_id, key)
    before = store.count_recent_codes(
        tx,
        hour=asking.now - _HOUR,
        day=asking.now - _DAY,
        user_id=user_id,
        address=asking.address,
        phone=asking.phone,
        binding_id=asking.binding.id,
        link_id=asking.link_id,
    )
    if max(before.user_last_hour, before.asker_last_hour) >= link_codes.MAX_CODES_PER_HOUR or (
        before.phone_last_hour >= link_codes.MAX_NUMBER_CODES_PER_HOUR
    ):
        raise Conflict("too many codes were requested: wait an hour, then request a new one")
    if before.address_last_hour >= link_codes.MAX_ADDRESS_CODES_PER_HOUR:
        raise Conflict("too many codes were requested from your network: wait an hour, then request a new one")
    if (
        before.asker_last_day >= link_codes.MAX_CODES_PER_DAY
        or before.phone_last_day >= link_codes.MAX_NUMBER_CODES_PER_DAY
    ):
        raise Conflict("too many codes were requested today: try again tomorrow")
    if before.binding_last_hour >= link_codes.MAX_BINDING_CODES_PER_HOUR:
        log.count("CodesRefused")
        raise Conflict("too many codes were requested for this agent: wait an hour, then request a new one")
    return before


@dataclass(frozen=True, slots=True)
class _Contact:
    user_id: UUID
    session_id: UUID
    is_new: bool


def _enqueue_code(asking: _CodeRequest, tx: Transaction, before: CodeCounts) -> _Contact | None:
    """Put the code on its way to whoever has the number, who is made for it where only a template reaches them.

    A number that never wrote gets a few in a day. Above that none is sent, and who asks hears the same as ever: a
    refusal would tell which numbers have written.
    """
    known = store.find_contact(tx, asking.phone, asking.binding.id)
    has_written = known is not None and known.last_inbound_at is not None
    if not has_written and (
        before.asker_last_day >= link_codes.MAX_STRANGER_CODES_PER_DAY
        or before.phone_last_day >= link_codes.MAX_STRANGER_NUMBER_CODES_PER_DAY
    ):
        return None
    settings = asking.binding.channels.get(PHONE_CHANNEL)
    given: JsonObject = settings if isinstance(settings, dict) else {}
    has_template = templates.find_template(given, "reply") is not None
    is_reachable = has_template or (
        known is not None and outgoing_message.is_window_open(known.last_inbound_at, asking.now)
    )
    if not is_reachable:
        return None
    if known and known.session_id:
        contact = _Contact(known.user_id, known.session_id, is_new=False)
    else:
        created = users.find_or_create_contact(
            tx,
            channel=PHONE_CHANNEL,
            address=asking.phone,
            display_name=None,
            binding_id=asking.binding.id,
            now=asking.now,
        )
        contact = _Contact(created.user_id, created.session_id, is_new=known is None)
    store.insert_code_message(
        tx,
        message_id=asking.message_id,
        session_id=contact.session_id,
        binding_id=asking.binding.id,
        body=link_codes.render_code_message(asking.code, asking.binding.display_name),
        now=asking.now,
    )
    reply = NewDelivery(
        asking.outbox_id, contact.session_id, asking.message_id, asking.binding.id, PHONE_CHANNEL, asking.phone
    )
    outbox.enqueue(tx, reply, asking.now)
    return contact
