"""What people do in Chatwoot with a conversation of the inbox: they answer, and resolve it.

A person is the member with the e-mail address that Chatwoot has of them. They answer under the inbox's own rules, with
no more rights than answering takes, and up to the level that Chatwoot may have. What is refused is told in Chatwoot.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid5

from parlour.conversations import inbox_messages
from parlour.conversations.inbox_messages import PostedMessage
from parlour.inbox import threads
from parlour.infra.errors import CallerError, Conflict, Forbidden, InvalidRequest, NotFound
from parlour.infra.postgres import Database, Transaction
from parlour.jobs.work_due import DueWork
from parlour.notifications import chatwoot_conversations, notifications
from parlour.notifications.chatwoot_conversations import ChatwootSession
from parlour.notifications.chatwoot_webhook import ChatwootMessage, ChatwootResolution, ChatwootSource
from parlour.principal import Principal

type ChatwootOutcome = Literal["done", "ignored", "refused"]

_NOBODY = "No active member of Parlour, or more than one, has the e-mail address that you have in Chatwoot."
_ABOVE = (
    "This conversation is classified higher than Chatwoot may show, or than your clearance in Parlour. "
    "Answer in Parlour's console."
)
_NOT_TAKEN = "No member has this conversation in Parlour. Answer it first, or close it in Parlour's console."
_UNSEEN = (
    "Chatwoot had not shown everything when this conversation was resolved: the user wrote, or it came back. "
    "Read what is new, open it and resolve it again."
)
_ATTACHMENTS = "Parlour sends no files from Chatwoot. Write a text without one."


@dataclass(frozen=True, slots=True)
class ReceivedWebhook:
    """What became of a webhook, and what to send after the commit. session_id: None for none of ours."""

    outcome: ChatwootOutcome
    session_id: UUID | None = None
    posted: PostedMessage | None = None
    pending: Sequence[DueWork] = ()


def receive(
    database: Database, source: ChatwootSource, happened: ChatwootMessage | ChatwootResolution, now: datetime
) -> ReceivedWebhook:
    """Do what a person did in Chatwoot. The same webhook a second time has no effect.

    NotFound for a message in a conversation that is not ours: Chatwoot then shows that it was not sent.
    """
    session = database.run(
        source.tenant_id, lambda tx: chatwoot_conversations.find_session(tx, source.inbox, happened.conversation)
    )
    if session is None and isinstance(happened, ChatwootMessage):
        raise NotFound("Parlour does not have this conversation, or its binding names another inbox. Nothing was sent.")
    if session is None:
        return ReceivedWebhook("ignored")
    webhook = _Webhook(database, source, session, now)
    return webhook.resolve(happened) if isinstance(happened, ChatwootResolution) else webhook.answer(happened)


@dataclass(frozen=True, slots=True)
class _Webhook:
    """A webhook about a conversation of ours."""

    database: Database
    source: ChatwootSource
    session: ChatwootSession
    now: datetime

    def answer(self, message: ChatwootMessage) -> ReceivedWebhook:
        """Send what a person wrote; this takes a conversation that nobody has."""
        session_id, client_id = self.session.session_id, f"chatwoot:{message.message_id}"
        if message.sender_id == self.session.own_user:  # what Parlour posted comes back
            return ReceivedWebhook("ignored", session_id)

        def say(person: Principal, tx: Transaction) -> ReceivedWebhook:
            if inbox_messages.is_sent(person, tx, session_id, client_id):
                return ReceivedWebhook("done", session_id)
            if message.has_attachments:
                raise InvalidRequest(_ATTACHMENTS)
            claim = threads.take(person, tx, session_id, self.now).claim
            posted = inbox_messages.say(person, tx, session_id, message.text, claim, client_id, self.now)
            chatwoot_conversations.drop_message(tx, posted.message_id)
            return ReceivedWebhook("done", session_id, posted, notifications.list_pending(tx, session_id))

        person = self.database.run(
            self.source.tenant_id,
            lambda tx: chatwoot_conversations.find_answerer(tx, self.source.tenant_id, self.session, message.email),
        )
        return self._act(person, say, _NOBODY, uuid5(session_id, f"{client_id}:refused"))

    def resolve(self, resolution: ChatwootResolution) -> ReceivedWebhook:
        """Close the conversation for the member who has it: Chatwoot does not say who resolved it.

        Refuse it where Chatwoot did not show what there was: an earlier stay in the inbox, or a new message.
        """
        session_id = self.session.session_id
        thread = self.database.run(self.source.tenant_id, lambda tx: threads.lock_for_clock(tx, session_id))
        if thread is None or not thread.is_held:
            return ReceivedWebhook("ignored", session_id)
        resolved_at = resolution.at or self.now

        def close(person: Principal, tx: Transaction) -> ReceivedWebhook:
            current = threads.lock_for_clock(tx, session_id)
            if current is None or not current.is_held:  # a repeat of work that was committed
                return ReceivedWebhook("ignored", session_id)
            session = chatwoot_conversations.find_session(tx, self.source.inbox, resolution.conversation)
            if session is None or not session.has_shown_all(current.opened_at, resolved_at):
                raise Conflict(_UNSEEN)
            inbox_messages.close(person, tx, session_id, self.now)
            return ReceivedWebhook("done", session_id, None, notifications.list_pending(tx, session_id))

        person = self.database.run(
            self.source.tenant_id,
            lambda tx: chatwoot_conversations.find_holder(tx, self.source.tenant_id, self.session, thread.assignee),
        )
        refusal_id = uuid5(session_id, f"chatwoot:resolved:{thread.claim}:{resolved_at.isoformat()}")
        return self._act(person, close, _NOT_TAKEN, refusal_id)

    def _act(
        self,
        person: Principal | None,
        act: Callable[[Principal, Transaction], ReceivedWebhook],
        missing: str,
        refusal_id: UUID,
    ) -> ReceivedWebhook:
        """Return what acting as the person comes to, or have Chatwoot told why it is refused. A refusal is final."""
        tenant_id, session = self.source.tenant_id, self.session
        if self.database.run(tenant_id, lambda tx: chatwoot_conversations.is_refused(tx, refusal_id)):
            return ReceivedWebhook("refused", session.session_id)
        try:
            if person is None:
                raise Forbidden(missing)
            if session.level > person.clearance:
                raise Forbidden(_ABOVE)
            return self.database.run(person, lambda tx: act(person, tx))
        except CallerError as problem:
            reason = str(problem)

        def refuse(tx: Transaction) -> list[DueWork]:
            chatwoot_conversations.refuse(tx, session, self.source.inbox, refusal_id, reason, self.now)
            return notifications.list_pending(tx, session.session_id)

        return ReceivedWebhook("refused", session.session_id, None, self.database.run(tenant_id, refuse))
