"""Chatwoot: every conversation of the inbox is also in an API inbox there, with its messages, for people who answer.

What Chatwoot has is found again by names of ours: a contact by its identifier, `parlour:<user id>`, a conversation by
its custom attribute `parlour_session`. A message has no name of ours there. After an attempt that may have succeeded, a
message of the same text that came since the event is taken for this one.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Literal
from urllib.parse import quote

from parlour.infra.errors import ProviderRejected, ProviderUnavailable
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.notifications import store
from parlour.notifications.chatwoot_note import ChatwootEvent, is_shown, write_note
from parlour.notifications.event import console_link
from parlour.notifications.receiver import Receivers, require_success
from parlour.notifications.store import NotificationRow

SESSION_ATTRIBUTE = "parlour_session"

_CLOCK_SKEW = timedelta(seconds=30)
_MAX_NAME_CHARS = 100
_WITHOUT_TEXT = "(a message without text, such as a picture: see the console)"

type _MessageType = Literal["incoming", "outgoing"]


@dataclass(frozen=True, slots=True)
class ChatwootSender:
    """Copies an event of the inbox to Chatwoot's API."""

    receivers: Receivers
    public_url: str

    def send(self, notification: NotificationRow, /) -> None:
        """Copy the event; raises as `Sender`. An attempt that may have succeeded is tried again."""
        database, tenant_id = self.receivers.database, notification.tenant_id
        event = database.run(tenant_id, lambda tx: store.read_chatwoot_event(tx, notification.id))
        if event is None:
            return
        account, _, inbox = notification.recipient.rpartition("/inboxes/")
        api = _Account(self.receivers, notification, account, self.receivers.read_secret(notification).strip())
        key = (notification.session_id, notification.recipient)
        number = event.conversation
        if number is None:
            found = api.find_conversation(event, inbox)
            database.run(tenant_id, lambda tx: store.save_chatwoot_conversation(tx, *key, *found))
            number = found[0]
        elif (
            notification.event == "said" and event.by != "user" and (own_user := api.read_own_user()) != event.own_user
        ):
            # The token is another user's now. What Parlour posts comes back, and is told from answers by its user.
            database.run(tenant_id, lambda tx: store.save_chatwoot_conversation(tx, *key, number, own_user))
        try:
            self._tell(_Conversation(api, f"/conversations/{number}"), event)
        except _NotThereError:
            database.run(tenant_id, lambda tx: store.delete_chatwoot_conversation(tx, *key))
            raise ProviderUnavailable("Chatwoot has lost the conversation. It gets a new one.") from None

    def _tell(self, conversation: "_Conversation", event: ChatwootEvent) -> None:
        notification = conversation.api.notification
        kind = notification.event
        if kind == "said" and is_shown(event):
            conversation.post("incoming" if event.by == "user" else "outgoing", event.text or _WITHOUT_TEXT)
            return
        if kind == "opened" and event.conversation is not None and not event.is_superseded:
            conversation.set_status("open")
        link = console_link(self.public_url, notification.session_id)
        conversation.post("outgoing", write_note(kind, event, notification.reason, link), is_private=True)
        if kind == "opened" and is_shown(event) and event.last_question is not None:
            conversation.post("incoming", event.last_question or _WITHOUT_TEXT)
        elif kind == "taken" and event.assignee_email:
            conversation.assign(event.assignee_email)
        elif kind == "handed_back" and not event.is_superseded:
            conversation.set_status("pending")  # Chatwoot's word for what a bot answers
        elif kind == "closed" and not event.is_superseded:
            conversation.set_status("resolved")


class _NotThereError(Exception):
    """Chatwoot has nothing at this address."""


@dataclass(frozen=True, slots=True)
class _Account:
    """Chatwoot's API for one account. url: https://host/api/v1/accounts/1."""

    receivers: Receivers
    notification: NotificationRow
    url: str
    token: str

    def request(self, path: str, body: Mapping[str, Json] | None = None) -> Json:
        """Return the JSON that Chatwoot answers to a POST with a body, or to a GET without one; null when it is none.

        Raises _NotThereError, and as `Sender`.
        """
        headers = {"api_access_token": self.token, "content-type": "application/json"}
        content = None if body is None else canonical_json(dict(body)).encode()
        answer = self.receivers.request(self.notification, f"{self.url}{path}", headers, content)
        if answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise ProviderRejected(f"Chatwoot refused the access token or its rights ({answer.status}).")
        if answer.status == HTTPStatus.NOT_FOUND:
            raise _NotThereError
        require_success(self.notification, answer)
        try:
            read: Json = json.loads(answer.body or b"null")
        except ValueError:
            return None
        return read

    def find_conversation(self, event: ChatwootEvent, inbox: str) -> tuple[int, int]:
        """Return the number of the session's conversation, created if need be, and the id of the token's own user."""
        own_user = self.read_own_user()
        try:
            number = self._find_or_create(self._find_contact(event, inbox), inbox)
        except _NotThereError:
            raise ProviderRejected("Chatwoot has no such account or inbox. Check `account` and `inbox`.") from None
        if number is None:
            raise ProviderRejected("Chatwoot's answer names no conversation.")
        return number, own_user

    def read_own_user(self) -> int:
        """Return the id of the user whose token this is."""
        root = self.url.rpartition("/accounts/")[0]
        try:
            own_user = _read_id(_Account(self.receivers, self.notification, root, self.token).request("/profile"))
        except _NotThereError:
            own_user = None
        if own_user is None:
            raise ProviderRejected("Chatwoot names no user of the access token. Check `url`.")
        return own_user

    def _find_contact(self, event: ChatwootEvent, inbox: str) -> int:
        identifier = f"parlour:{event.user_id}"
        contact = self._search_contact(identifier)
        if contact is not None:
            return contact
        name = " ".join((event.user_name or "Visitor").split())[:_MAX_NAME_CHARS]
        try:
            contact = _read_id(
                self.request("/contacts", {"inbox_id": int(inbox), "name": name, "identifier": identifier})
            )
        except ProviderRejected:  # another conversation of the user may have created it since
            contact = self._search_contact(identifier)
            if contact is None:
                raise
        if contact is None:
            raise ProviderRejected("Chatwoot's answer names no contact.")
        return contact

    def _search_contact(self, identifier: str) -> int | None:
        found = _list_objects(self.request(f"/contacts/search?q={quote(identifier, safe='')}"))
        return next((_read_id(contact) for contact in found if contact.get("identifier") == identifier), None)

    def _find_or_create(self, contact: int, inbox: str) -> int | None:
        session = str(self.notification.session_id)
        for found in _list_objects(self.request(f"/contacts/{contact}/conversations")):
            attributes = found.get("custom_attributes")
            is_ours = isinstance(attributes, dict) and attributes.get(SESSION_ATTRIBUTE) == session
            if is_ours and str(found.get("inbox_id")) == inbox:
                return _read_id(found)
        wanted: JsonObject = {
            "inbox_id": inbox,
            "contact_id": str(contact),
            "source_id": session,
            "status": "open",
            "custom_attributes": {SESSION_ATTRIBUTE: session},
        }
        return _read_id(self.request("/conversations", wanted))


@dataclass(frozen=True, slots=True)
class _Conversation:
    """One conversation in Chatwoot."""

    api: _Account
    path: str

    def post(self, message_type: _MessageType, text: str, *, is_private: bool = False) -> None:
        """Add a message, once: after an attempt that may have succeeded it is looked for."""
        message: JsonObject = {"content": text, "message_type": message_type, "private": is_private}
        if self.api.notification.may_have_arrived and self._has(text, is_private=is_private):
            return
        self.api.request(f"{self.path}/messages", message)

    def set_status(self, status: Literal["open", "pending", "resolved"]) -> None:
        """Set the status."""
        self.api.request(f"{self.path}/toggle_status", {"status": status})

    def assign(self, email: str) -> None:
        """Assign the conversation to the agent with this address; without effect where Chatwoot has none."""
        for agent in _list_objects(self.api.request("/agents")):
            if str(agent.get("email", "")).casefold() == email.casefold():
                self.api.request(f"{self.path}/assignments", {"assignee_id": _read_id(agent)})

    def _has(self, text: str, *, is_private: bool) -> bool:
        since = (self.api.notification.created_at - _CLOCK_SKEW).timestamp()
        return any(
            str(found.get("content") or "").strip() == text.strip()
            and bool(found.get("private")) == is_private
            and isinstance(at := found.get("created_at"), int | float)
            and at >= since
            for found in _list_objects(self.api.request(f"{self.path}/messages"))
        )


def _list_objects(answer: Json) -> Iterator[JsonObject]:
    """Return the objects of a list; Chatwoot answers with the list or with {"payload": list}."""
    found = answer.get("payload") if isinstance(answer, dict) else answer
    yield from (one for one in found if isinstance(one, dict)) if isinstance(found, list) else ()


def _read_id(answer: Json) -> int | None:
    """Return the id of an object; a contact's answer may have it as `payload.contact.id`."""
    match answer:
        case {"payload": {"contact": {"id": int(found)}}} | {"id": int(found)}:
            return found
    return None
