"""The code came back: the visitor and the phone's user are one from now on, and so is their conversation.

What was the visitor's becomes the phone's user's: conversations, memory, channels. The visitor's own row stays and
leads there, so that their tokens go on working. Messages from the phone and from the web then meet in one main session:
the phone's, or where nothing was ever said there, the one on the web.

A member who signed in on the web talks as a member on the phone from then on. Their conversations on the web stay apart
from the one that the phone writes in: there a member has the roles of a phone. With a new number the old one ends.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from parlour.conversations.linking import link_codes, store
from parlour.conversations.linking.store import LinkRow
from parlour.infra import log
from parlour.infra.errors import Conflict, InvalidRequest, LeaseHeld, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal, system_principal
from parlour.tenancy import audit

_EXPIRED = "this code is no longer valid; request a new one"
_SIGN_IN = "this number is a member's: sign in to the console, and open the agent from there"
_MEMBERS_NUMBER = "this number is linked to another member: they link another number first, or you link another one"


@dataclass(frozen=True, slots=True)
class MergedUser:
    """Who the visitor is now, and the session in which both channels meet."""

    user_id: UUID
    session_id: UUID


def merge_user(
    principal: Principal, database: Database, link_id: UUID, code: str, *, secret: str, now: datetime
) -> MergedUser:
    """Make the visitor and the phone's user one, if that is the code. Doing it again changes nothing.

    Raises InvalidRequest for another code, NotFound when the link is over, used up or not theirs, Conflict when either
    of them was joined with somebody else meanwhile or the number is another member's, and LeaseHeld while the visitor
    is being answered.
    """
    if principal.kind != "user" or principal.id is None:
        raise NotFound(_EXPIRED)
    user_id, given = principal.id, link_codes.hash_code(secret, link_id, code)
    if before := database.run(principal, lambda tx: _find_earlier_merge(tx, link_id, user_id, given)):
        return before
    joined = database.run(principal, partial(_try_code, principal, link_id, user_id, given, uuid7(now), now))
    if isinstance(joined, int):
        if joined < 1:
            raise InvalidRequest("wrong code, and no attempts are left; request a new code")
        raise InvalidRequest(f"wrong code; {joined} {'attempt' if joined == 1 else 'attempts'} left")
    log.info("phone_linked", tenant_id=principal.tenant_id, link_id=link_id, session_id=joined.session_id)
    return joined


def _try_code(
    principal: Principal, link_id: UUID, user_id: UUID, given: bytes, audited: UUID, now: datetime, tx: Transaction
) -> MergedUser | int:
    """One try; for another code how many are left. The right one that comes at a bad moment has cost none."""
    tried = store.record_attempt(tx, link_id, user_id, link_codes.MAX_ATTEMPTS, now)
    if tried is None:
        raise NotFound(_EXPIRED)
    if not link_codes.hashes_equal(tried.code_hash, given) or tried.contact_id is None:
        return link_codes.MAX_ATTEMPTS - tried.attempt_count
    tx.read_as(system_principal(principal.tenant_id))  # what the visitor created becomes somebody else's here
    link = store.lock_link(tx, link_id, user_id, given)
    if link is None:
        before = _find_earlier_merge(tx, link_id, user_id, given)
        if before is None:
            raise NotFound(_EXPIRED)
        return before
    into, member_id = _lock_users(tx, link)
    if any(until and until > now for until in store.lock_sessions(tx, link.user_id)):
        raise LeaseHeld("your last message is being answered; enter the code again in a moment", retry_after=2)
    main = store.lock_main_session(tx, into, link.binding_id)
    store.move_user_rows(tx, link.user_id, into, link.binding_id)
    if member_id:
        store.set_member(tx, into, member_id)
        main = link.session_id or main
    elif link.session_id and (main is None or store.is_session_empty(tx, main)):
        main = _make_web_session_main(tx, main, link.session_id) or main
    store.complete_link(tx, link.id, now)
    meeting = main or link.session_id
    if meeting is None:
        raise NotFound(_EXPIRED)
    details: JsonObject = {"member_id": str(member_id)} if member_id else {}
    audit.add_entry(principal, tx, "phone.linked", f"user:{into}", details, now, entry_id=audited)
    return MergedUser(into, meeting)


def _lock_users(tx: Transaction, link: LinkRow) -> tuple[UUID, UUID | None]:
    """Lock both users, always in the same order, so that two links never deadlock.

    Return the phone's user, and the member who links it, if one does.
    """
    if link.contact_id is None:
        raise NotFound(_EXPIRED)
    rows = {one: store.lock_user(tx, one) for one in sorted((link.user_id, link.contact_id))}
    visitor, contact = rows[link.user_id], rows[link.contact_id]
    if visitor is None or contact is None:
        raise NotFound(_EXPIRED)
    is_linked = visitor.phone is not None and visitor.member_id is None
    if is_linked or visitor.merged_into or contact.merged_into or contact.phone != link.phone:
        raise Conflict("this visitor or number was linked to someone else meanwhile; reload the page")
    if contact.member_id:
        raise Conflict(_MEMBERS_NUMBER if visitor.member_id else _SIGN_IN)
    return contact.id, visitor.member_id


def _make_web_session_main(tx: Transaction, unspoken: UUID | None, session_id: UUID) -> UUID | None:
    """Nothing was ever said on the phone: what it writes from now on goes on where the visitor is. None where that is a
    talk about a record, which keeps to its matter."""
    if not store.can_be_main(tx, session_id):
        return None
    if unspoken:
        store.delete_session(tx, unspoken)
    store.make_main_session(tx, session_id)
    return session_id


def _find_earlier_merge(tx: Transaction, link_id: UUID, user_id: UUID, given: bytes) -> MergedUser | None:
    """Return what the same code led to the first time."""
    linked = store.find_completed_link(tx, link_id, user_id, given)
    if linked is None:
        return None
    main = store.find_main_session(tx, linked.contact_id, linked.binding_id) or linked.session_id
    return MergedUser(linked.contact_id, main) if main else None
