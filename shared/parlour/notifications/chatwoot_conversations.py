"""Conversations that are in Chatwoot, for what comes back from there: whose they are, who answers, what is refused."""

from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.notifications import store
from parlour.notifications.event import InboxEvent, NotificationSettings, Recipient
from parlour.notifications.store import ChatwootMember, ChatwootSession
from parlour.principal import Principal

__all__ = ["ChatwootSession", "drop_message", "find_answerer", "find_holder", "find_session", "is_refused", "refuse"]

_ANSWERER_ROLES = frozenset({"viewer", "editor"})


def find_session(tx: Transaction, inbox: str, conversation: int) -> ChatwootSession | None:
    """Return the session of a conversation in Chatwoot; None unless its binding has this inbox now."""
    return store.find_chatwoot_session(tx, inbox, conversation)


def find_answerer(tx: Transaction, tenant_id: UUID, session: ChatwootSession, email: str) -> Principal | None:
    """Return the one active member with an e-mail address, as they answer in Chatwoot; None for none or several."""
    found = store.list_members_by_email(tx, email) if email else []
    return _answerer(tenant_id, session, found[0]) if len(found) == 1 else None


def find_holder(tx: Transaction, tenant_id: UUID, session: ChatwootSession, assignee: str | None) -> Principal | None:
    """Return the active member who has a conversation of the inbox; assignee: as the inbox names them."""
    kind, _, member_id = (assignee or "").partition(":")
    member = store.find_member(tx, UUID(member_id)) if kind == "member" else None
    return _answerer(tenant_id, session, member) if member else None


def is_refused(tx: Transaction, refusal_id: UUID) -> bool:
    """Whether this was refused before."""
    return store.has_notification(tx, refusal_id)


def refuse(tx: Transaction, session: ChatwootSession, inbox: str, refusal_id: UUID, reason: str, now: datetime) -> None:
    """Have Chatwoot told, in a private note, why something was not done; once for an id."""
    settings = NotificationSettings.from_json(store.find_settings(tx, session.session_id))
    event = InboxEvent(refusal_id, "refused", session.session_id, reason)
    store.add_notification(tx, refusal_id, event, Recipient("chatwoot", inbox, settings.chatwoot_token), now, now)


def drop_message(tx: Transaction, message_id: UUID) -> None:
    """Do not send a message to Chatwoot that a person wrote there."""
    store.drop_chatwoot_message(tx, message_id)


def _answerer(tenant_id: UUID, session: ChatwootSession, member: ChatwootMember) -> Principal:
    """Return the member with the rights that answering takes, as far as they have them, and Chatwoot's level."""
    roles = _ANSWERER_ROLES if "admin" in member.roles else _ANSWERER_ROLES.intersection(member.roles)
    return Principal(tenant_id, "member", member.id, roles, min(member.clearance, session.allowed_level))
