"""Links between visitors and phones in the database."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class CodeCounts:
    """How many codes were asked for: by the visitor, from their address, for the number and of the binding within the
    hour, and for the number within a day. asker: for this number, from this address."""

    user_last_hour: int
    address_last_hour: int
    phone_last_hour: int
    phone_last_day: int
    asker_last_hour: int
    asker_last_day: int
    binding_last_hour: int


@dataclass(frozen=True, slots=True)
class UserRow:
    """A user who is to be linked; merged_into: who they turned out to be already; member_id: who talks as them."""

    id: UUID
    phone: str | None
    merged_into: UUID | None
    member_id: UUID | None


@dataclass(frozen=True, slots=True)
class ContactRow:
    """Who has a number; the session in which they write to a binding, if they do, and when they last did."""

    user_id: UUID
    session_id: UUID | None
    last_inbound_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewLink:
    """A code that is about to be sent, or would be if the number could be reached (contact_id and message_id)."""

    link_id: UUID
    user_id: UUID
    binding_id: UUID
    session_id: UUID
    contact_id: UUID | None
    is_new: bool
    message_id: UUID | None
    phone: str
    code_hash: bytes
    expires_at: datetime
    address: str


@dataclass(frozen=True, slots=True)
class CodeAttempt:
    """A code that somebody tries: its seal, and how many tries that makes."""

    code_hash: bytes
    attempt_count: int
    contact_id: UUID | None


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link whose code was right, before it comes about."""

    id: UUID
    user_id: UUID
    binding_id: UUID
    session_id: UUID | None
    contact_id: UUID | None
    phone: str
    message_id: UUID | None


@dataclass(frozen=True, slots=True)
class LinkedRow:
    """A link that came about: with whom, and where it was asked for."""

    contact_id: UUID
    binding_id: UUID
    session_id: UUID | None


@dataclass(frozen=True, slots=True)
class LockedSessionRow:
    """A session that is held, and until when a worker answers in it."""

    id: UUID
    lease_until: datetime | None


@dataclass(frozen=True, slots=True)
class CodeExpiry:
    """Until when a code is good; None for one that was given back."""

    expires_at: datetime | None


def count_recent_codes(tx: Transaction, *, hour: datetime, day: datetime, **values: UUID | str) -> CodeCounts:
    """`values`: user_id, address, phone, binding_id, and the link_id that is not counted."""
    return tx.one(SQL["count_recent_codes"], CodeCounts, hour=hour, day=day, **values)


def lock_codes(tx: Transaction, user_id: UUID, key: str) -> None:
    """Lock an address or a number of the user's tenant."""
    tx.run(SQL["lock_codes"], user_id=user_id, key=key)


def lock_user(tx: Transaction, user_id: UUID) -> UserRow | None:
    return tx.first(SQL["lock_user"], UserRow, user_id=user_id)


def find_contact(tx: Transaction, phone: str, binding_id: UUID) -> ContactRow | None:
    return tx.first(SQL["find_contact"], ContactRow, phone=phone, binding_id=binding_id)


def insert_code_message(
    tx: Transaction, *, message_id: UUID, session_id: UUID, binding_id: UUID, body: str, now: datetime
) -> None:
    tx.run(
        SQL["insert_code_message"],
        message_id=message_id,
        session_id=session_id,
        binding_id=binding_id,
        body=body,
        now=now,
    )


def insert_link(tx: Transaction, link: NewLink, now: datetime) -> None:
    tx.run(
        SQL["insert_link"],
        link_id=link.link_id,
        user_id=link.user_id,
        binding_id=link.binding_id,
        session_id=link.session_id,
        contact_id=link.contact_id,
        is_new=link.is_new,
        message_id=link.message_id,
        phone=link.phone,
        code_hash=link.code_hash,
        expires_at=link.expires_at,
        address=link.address,
        now=now,
    )


def record_attempt(
    tx: Transaction, link_id: UUID, user_id: UUID, max_attempts: int, now: datetime
) -> CodeAttempt | None:
    return tx.first(SQL["record_attempt"], CodeAttempt, link_id=link_id, user_id=user_id, most=max_attempts, now=now)


def find_completed_link(tx: Transaction, link_id: UUID, user_id: UUID, code_hash: bytes) -> LinkedRow | None:
    return tx.first(SQL["find_completed_link"], LinkedRow, link_id=link_id, user_id=user_id, code_hash=code_hash)


def lock_link(tx: Transaction, link_id: UUID, user_id: UUID, code_hash: bytes) -> LinkRow | None:
    return tx.first(SQL["lock_link"], LinkRow, link_id=link_id, user_id=user_id, code_hash=code_hash)


def lock_sessions(tx: Transaction, user_id: UUID) -> list[datetime | None]:
    """Until when each is answered in; None where nobody does."""
    return [row.lease_until for row in tx.all(SQL["lock_sessions"], LockedSessionRow, user_id=user_id)]


def lock_main_session(tx: Transaction, user_id: UUID, binding_id: UUID) -> UUID | None:
    found: UUID | None = tx.value(SQL["lock_main_session"], user_id=user_id, binding_id=binding_id)
    return found


def is_session_empty(tx: Transaction, session_id: UUID) -> bool:
    return bool(tx.value(SQL["is_session_empty"], session_id=session_id))


def can_be_main(tx: Transaction, session_id: UUID) -> bool:
    return bool(tx.value(SQL["can_be_main"], session_id=session_id))


def delete_session(tx: Transaction, session_id: UUID) -> None:
    tx.run(SQL["delete_session"], session_id=session_id)


def make_main_session(tx: Transaction, session_id: UUID) -> None:
    tx.run(SQL["make_main_session"], session_id=session_id)


def find_main_session(tx: Transaction, user_id: UUID, binding_id: UUID) -> UUID | None:
    found: UUID | None = tx.value(SQL["find_main_session"], user_id=user_id, binding_id=binding_id)
    return found


_MERGE_QUERIES = (
    "supersede_duplicate_facts",
    "move_facts",
    "move_decisions",
    "move_episodes",
    "move_sessions",
    "move_created_records",
    "delete_duplicate_identities",
    "move_identities",
    "merge_user_details",
    "move_merged_users",
    "mark_user_merged",
)
"""What makes two users one, in this order: of doubles one ends before both are one user's."""


def move_user_rows(tx: Transaction, user_id: UUID, into: UUID, binding_id: UUID) -> None:
    for name in _MERGE_QUERIES:
        tx.run(SQL[name], user_id=user_id, into=into, binding_id=binding_id)


def set_member(tx: Transaction, user_id: UUID, member_id: UUID) -> None:
    tx.run(SQL["set_member"], user_id=user_id, member_id=member_id)


def complete_link(tx: Transaction, link_id: UUID, now: datetime) -> None:
    tx.run(SQL["complete_link"], link_id=link_id, now=now)


def find_code_expiry(tx: Transaction, link_id: UUID) -> CodeExpiry | None:
    return tx.first(SQL["find_code_expiry"], CodeExpiry, link_id=link_id)


def erase_code_text(tx: Transaction, link_id: UUID) -> None:
    tx.run(SQL["erase_code_text"], link_id=link_id)


def delete_unused_contact(tx: Transaction, link_id: UUID, now: datetime) -> None:
    """Under locks of their own, since what is written at this moment is to be seen."""
    tx.run(SQL["lock_contact"], link_id=link_id)
    tx.run(SQL["delete_unused_contact"], link_id=link_id, now=now)
