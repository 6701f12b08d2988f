"""Events of a conversation in the inbox, whom a binding wants told of them, and what they read. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal
from uuid import UUID

from parlour.infra.json_values import JsonObject

type InboxEventKind = Literal["opened", "said", "taken", "handed_back", "closed", "breached", "escalated", "refused"]
"""refused: what a person wrote in Chatwoot was not sent. Chatwoot alone is told; it is no event of the inbox."""

type Medium = Literal["email", "webhook", "chatwoot"]

#: The events that the media are told of where a binding lists `opened`: the conversation waits still.
_REMINDERS: frozenset[InboxEventKind] = frozenset({"breached", "escalated"})

#: The events of which a mail says that a conversation waits, or waits still.
WAITING_EVENTS: frozenset[InboxEventKind] = frozenset({"opened", "breached", "escalated"})

#: How long a recipient gets no second mail about waiting conversations of anonymous visitors with a binding.
MAIL_INTERVAL = timedelta(minutes=5)

_SENTENCES: dict[InboxEventKind, str] = {
    "opened": "A conversation with {binding} waits for a person.",
    "said": "There is a new message in a conversation with {binding}.",
    "taken": "A person took a conversation with {binding}.",
    "handed_back": "A conversation was handed back to {binding}.",
    "closed": "A conversation with {binding} was closed.",
    "breached": "A service time passed in a conversation with {binding}.",
    "escalated": "A conversation with {binding} waits too long.",
}
_FOOTER = "The message itself is not in this e-mail. Sign in to read it."


@dataclass(frozen=True, slots=True)
class InboxEvent:
    """Something that happened to a conversation in the inbox.

    id           the same for every attempt to store the event: nobody is told of one event twice.
    reason       why a person is needed, in words that hold nothing the user wrote; empty without a reason.
    assignee_id  the member whom somebody gave the conversation.
    is_by_person  whether a person of the tenant wrote, of `said`.
    is_flood  whether strangers open more conversations than people are mailed of at once.
    """

    id: UUID
    kind: InboxEventKind
    session_id: UUID
    reason: str = ""
    assignee_id: UUID | None = None
    is_by_person: bool = False
    is_flood: bool = False


@dataclass(frozen=True, slots=True)
class NotificationSettings:
    """Whom a binding wants told: addresses, members with one of the roles, a webhook, Chatwoot; and of which events.

    chatwoot_inbox  the address of an inbox in Chatwoot, as `chatwoot_address` writes it; chatwoot_token: the name of
                    the secret that has the access token.
    """

    email: Sequence[str] = ()
    roles: Sequence[str] = ()
    webhook_url: str = ""
    webhook_secret: str = ""
    events: Sequence[str] = ("opened",)
    chatwoot_inbox: str = ""
    chatwoot_token: str = ""

    @classmethod
    def from_json(cls, settings: JsonObject) -> "NotificationSettings":
        """Read a binding's stored settings; the format has checked them."""
        webhook = settings.get("webhook")
        webhook = webhook if isinstance(webhook, dict) else {}
        chatwoot = settings.get("chatwoot")
        chatwoot = chatwoot if isinstance(chatwoot, dict) else {}
        return cls(
            _texts(settings.get("email")),
            _texts(settings.get("roles")),
            str(webhook.get("url", "")),
            str(webhook.get("secret", "")),
            _texts(settings.get("events")) or ("opened",),
            chatwoot_address(chatwoot) if chatwoot else "",
            str(chatwoot.get("token", "")),
        )

    def lists(self, event: InboxEvent) -> bool:
        """Whether addresses, members with a role and the webhook are told of an event."""
        if event.kind == "said":
            return "said" in self.events and event.is_by_person
        return ("opened" if event.kind in _REMINDERS else event.kind) in self.events


def chatwoot_address(chatwoot: JsonObject) -> str:
    """Return the address of an inbox in Chatwoot: `https://host/api/v1/accounts/1/inboxes/2`."""
    url = str(chatwoot["url"]).rstrip("/")
    return f"{url}/api/v1/accounts/{chatwoot['account']}/inboxes/{chatwoot['inbox']}"


@dataclass(frozen=True, slots=True)
class MemberAddress:
    """An active member with an e-mail address."""

    id: UUID
    email: str
    roles: list[str]


@dataclass(frozen=True, slots=True)
class Recipient:
    """One address to tell. `secret`: the name of a webhook's signing secret, or of Chatwoot's access token."""

    medium: Medium
    address: str
    secret: str | None = None


def list_recipients(
    settings: NotificationSettings, event: InboxEvent, members: Sequence[MemberAddress]
) -> list[Recipient]:
    """Return whom to tell of an event, each once.

    A conversation that was given to a member is told to them. Other events are told to the addresses and to members
    with one of the roles, if the binding lists the event. A webhook receives every event that is listed; what is said
    in a conversation is for systems only. Chatwoot gets every event: people answer there.
    """
    systems = []
    if settings.webhook_url and settings.lists(event):
        systems = [Recipient("webhook", settings.webhook_url, settings.webhook_secret)]
    if settings.chatwoot_inbox:
        systems += [Recipient("chatwoot", settings.chatwoot_inbox, settings.chatwoot_token)]
    if event.kind == "said" or not (settings.lists(event) or event.assignee_id):
        return systems
    if event.assignee_id:
        addresses = [member.email for member in members if member.id == event.assignee_id]
    else:
        wanted = set(settings.roles)
        addresses = [*settings.email, *(member.email for member in members if wanted.intersection(member.roles))]
    unique = {address.casefold(): address for address in reversed(addresses)}
    return [*(Recipient("email", address) for address in reversed(unique.values())), *systems]


@dataclass(frozen=True, slots=True)
class EmailText:
    """A mail's subject and its plain text."""

    subject: str
    body: str


def write_email(kind: InboxEventKind, binding: str, reason: str, link: str) -> EmailText:
    """Return a mail that says what happened and links to the conversation, without a word of the user's."""
    sentence = _SENTENCES[kind].format(binding=_single_line(binding))
    why = f"Why: {_single_line(reason)}\n\n" if reason else ""
    return EmailText(sentence.rstrip("."), f"{sentence}\n\n{why}Open it in the console:\n{link}\n\n{_FOOTER}\n")


def write_summary(count: int, binding: str, link: str) -> EmailText:
    """Return a mail that says how many conversations wait. link: to the inbox."""
    subject, verb = ("1 conversation", "waits") if count == 1 else (f"{count} conversations", "wait")
    sentence = f"{subject} with {_single_line(binding)} {verb} for a person."
    return EmailText(sentence.rstrip("."), f"{sentence}\n\nOpen the inbox in the console:\n{link}\n\n{_FOOTER}\n")


def inbox_link(public_url: str) -> str:
    """Return the address of the console's inbox."""
    return f"{public_url.rstrip('/')}/console/#/inbox"


def console_link(public_url: str, session_id: UUID) -> str:
    """Return the address of the conversation in the console's inbox."""
    return f"{inbox_link(public_url)}/{session_id}"


def _single_line(text: str) -> str:
    """Return a text that can be part of a mail's header."""
    return " ".join(text.split())


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()
