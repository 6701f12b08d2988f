"""What people and the inbox write into a conversation, and how a conversation goes back to its agent.

A person's message is a turn that no model ran: its inputs are what waited for an answer, its reply is what the person
wrote. So history, memory, search and erasure treat it as any other turn.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from parlour.channels import outbox, outgoing_message, templates
from parlour.channels.outbox import PendingReply
from parlour.channels.templates import TemplateChoice
from parlour.conversations import store
from parlour.conversations.canned_replies import CannedTexts, ReplyCause
from parlour.conversations.inbound_messages import SessionWakeup
from parlour.conversations.rows import Event, Lease, NewReply, OpenTurn, ReplyAddress, TurnEnd
from parlour.conversations.tool_result_messages import PendingWakeup
from parlour.inbox import events, threads
from parlour.inbox.thread import Thread, ThreadReason
from parlour.inbox.threads import Opening
from parlour.infra.errors import Conflict, InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.jobs.work_due import CHECK_DELAY
from parlour.memory import job_scheduling
from parlour.memory.extraction import store as extraction_store
from parlour.memory.job_scheduling import DelayedJob
from parlour.principal import Principal
from parlour.prompts.assembly.user_message import TOOL_RESULT_KIND
from parlour.tenancy import bindings

_LEASE = timedelta(seconds=30)
"""A person's message takes one transaction; the lease is released in it."""

_WRITTEN = frozenset({"text", "media"})
"""The kinds of messages that a person answers by writing. A tool's result waits: only the agent reads it and tells the
user what became of their request."""

MAX_CHARS = 8_000
"""Characters of a person's message."""

_BUSY = "the agent is finishing an answer in this conversation; try again in a few seconds"


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """A message as it was stored, and what to send after the commit."""

    message_id: UUID
    deliveries: Sequence[PendingReply] = ()
    jobs: Sequence[DelayedJob] = ()


@dataclass(frozen=True, slots=True)
class OpenedThread:
    """A conversation that was brought to the inbox. notice: what the user was told; None when they were told before."""

    thread: Thread
    notice: PostedMessage | None = None


@dataclass(frozen=True, slots=True)
class _NewMessage:
    """A message about to be posted. answers: the kinds of messages that it answers, as far as they are unanswered."""

    id: UUID
    text: str
    metadata: JsonObject = field(default_factory=dict)
    answers: Collection[str] = ()


def say(
    principal: Principal,
    tx: Transaction,
    session_id: UUID,
    content: str | TemplateChoice,
    claim: int,
    client_id: str,
    now: datetime,
) -> PostedMessage:
    """Send what a person writes, on the channel of the user's last message, and store it as theirs.

    content    free text, or one of the channel's templates, whose filled text is stored.
    claim      the fencing token of who has the conversation. client_id: a repeat is sent once; "" for none.
    Conflict when somebody else has the conversation, it was handed back or closed, or the channel takes no free text;
    InvalidRequest for a text that is empty or too long, an unknown template, or values that do not fit it.
    """
    thread, person = threads.check_say(principal, tx, session_id, claim)
    message_id = _message_id(session_id, person.name, client_id) if client_id else uuid7(now)
    if client_id and store.has_reply(tx, message_id):
        return PostedMessage(message_id, outbox.list_pending(tx, session_id=session_id))
    address = get_reply_address(tx, session_id)
    metadata: JsonObject = {"author": person.display_name, "author_id": person.name}
    if isinstance(content, TemplateChoice):
        filled = templates.fill_choice(address.channel_settings, content)
        body, metadata = filled.text, {**metadata, "template": filled.to_json()}
    else:
        body = _check_free_text(address, content, now)
    posted = _post(tx, session_id, address, _NewMessage(message_id, body, metadata, _WRITTEN), now)
    threads.record_answer(principal, tx, thread, person, message_id, now)
    return posted


def is_sent(principal: Principal, tx: Transaction, session_id: UUID, client_id: str) -> bool:
    """Whether the principal sent a message with this `client_id`, also in a conversation that they have no more."""
    return store.has_reply(tx, _message_id(session_id, principal.name, client_id))


def _message_id(session_id: UUID, name: str, client_id: str) -> UUID:
    return uuid5(session_id, f"{name}:{client_id}")


def open_thread(
    principal: Principal, tx: Transaction, session_id: UUID, reason: ThreadReason, text: str, now: datetime
) -> OpenedThread:
    """Bring a conversation to the inbox from outside a turn, and tell the user once.

    Conflict while the agent is answering. `text` says more of the reason, to people of the tenant.
    """
    opening = threads.open_thread(principal, tx, session_id, reason, text, now)
    if not opening.is_new:
        return OpenedThread(opening.thread)
    return OpenedThread(opening.thread, post_notice(tx, session_id, opening_text(tx, session_id, opening, now), now))


def opening_text(tx: Transaction, session_id: UUID, opening: Opening, now: datetime) -> str:
    """Return what the user reads when their conversation waits for a person; in closed hours with the next opening."""
    opens_at = "" if opening.service.is_open(now) else opening.service.describe_opening(now)
    if not opens_at:  # somebody is there, or the hours never open: then no time can be offered
        return _canned_texts(tx, session_id).find(_OPENING_CAUSES.get(opening.thread.reason, "person_asked"))
    return _canned_texts(tx, session_id).find("closed_hours").replace("{opening}", opens_at)


_OPENING_CAUSES: dict[ThreadReason, ReplyCause] = {
    "tool_failed": "person_checks",
    "unknown_effect": "person_checks",
    "approval": "person_approves",
}


def post_notice(tx: Transaction, session_id: UUID, text: str, now: datetime) -> PostedMessage | None:
    """Post a line of the inbox to the user; None where the channel takes no free text any more."""
    address = get_reply_address(tx, session_id)
    if not takes_free_text(address, now) and not templates.find_template(address.channel_settings, "reply"):
        return None
    return _post(tx, session_id, address, _NewMessage(uuid7(now), text), now)


def late_text(tx: Transaction, session_id: UUID) -> str:
    """Return what the user reads when they wait longer than the binding's service time."""
    return _canned_texts(tx, session_id).find("person_late")


def hand_back(
    principal: Principal, tx: Transaction, session_id: UUID, instruction: str, now: datetime
) -> tuple[Thread, PendingWakeup]:
    """Let the agent answer again. What the user wrote meanwhile is the input of one turn, which the wake-up starts."""
    thread = threads.hand_back(principal, tx, session_id, instruction, now)
    return thread, _schedule_turn(tx, principal.tenant_id, thread, now)


def end_wait(
    principal: Principal, tx: Transaction, session_id: UUID, reason: ThreadReason, now: datetime
) -> PendingWakeup | None:
    """Let the agent answer again where the conversation waited for what the principal did now; None where not."""
    thread = threads.end_wait(principal, tx, session_id, reason, now)
    return _schedule_turn(tx, principal.tenant_id, thread, now) if thread else None


def settle(tx: Transaction, tenant_id: UUID, session_id: UUID, now: datetime) -> PendingWakeup | None:
    """Let the agent go on after a person decided what was undecided, if nothing else is and nobody has taken it."""
    thread = threads.settle(tx, session_id, now)
    return _schedule_turn(tx, tenant_id, thread, now) if thread else None


def close(principal: Principal, tx: Transaction, session_id: UUID, now: datetime) -> Thread:
    """End the conversation's stay in the inbox; what the user wrote last needs no answer, and is remembered."""
    thread = threads.close(principal, tx, session_id, now)
    lease, turn = _open_turn(tx, session_id, now, {*_WRITTEN, TOOL_RESULT_KIND})
    if not store.list_input_messages(tx, turn.id):
        store.delete_empty_turn(tx, turn.id)
        store.release_lease(tx, lease)
        return thread
    store.finish_turn(tx, lease, turn.id, TurnEnd("answered", now), {})
    _schedule_extraction(tx, principal.tenant_id, lease, turn.number, now)
    return thread


def _schedule_turn(tx: Transaction, tenant_id: UUID, thread: Thread, now: datetime) -> PendingWakeup:
    """Have what waits in a conversation answered by its agent; return the wake-up."""
    queue = get_reply_address(tx, thread.session_id)
    work_due.schedule(tx, "session", thread.session_id, now + CHECK_DELAY)
    wakeup = SessionWakeup(tenant_id, thread.session_id)
    message = wakeup.to_queue_message(f"hand_back:{thread.session_id}:{thread.claim}", queue.wake_group)
    return PendingWakeup(queue.session_channel, message)


def _post(
    tx: Transaction, session_id: UUID, address: ReplyAddress, message: _NewMessage, now: datetime
) -> PostedMessage:
    """Store a message as the reply of a turn that no model ran."""
    lease, turn = _open_turn(tx, session_id, now, message.answers)
    store.insert_reply(tx, lease, turn.id, NewReply(message.id, address.channel, message.text, message.metadata, now))
    if "author" not in message.metadata:  # a person's message is recorded with their name
        events.record_message(tx, session_id, message.id, "agent", "agent", now)
    deliveries: Sequence[PendingReply] = ()
    if address.channel == "web":
        _add_events(tx, lease, turn.id, turn.number, message, now)
    elif address.address:
        row = outbox.NewDelivery(uuid7(now), session_id, message.id, lease.binding_id, address.channel, address.address)
        outbox.enqueue(tx, row, now)
        deliveries = outbox.list_pending(tx, session_id=session_id)
    store.finish_turn(tx, lease, turn.id, TurnEnd("answered", now), {})
    jobs = _schedule_extraction(tx, address.tenant_id, lease, turn.number, now)
    return PostedMessage(message.id, deliveries, jobs)


def _schedule_extraction(
    tx: Transaction, tenant_id: UUID, lease: Lease, turn_number: int, now: datetime
) -> Sequence[DelayedJob]:
    noted = extraction_store.schedule_extraction(tx, lease.id, turn_number, job_scheduling.sweep_due_at(now))
    if noted is None:
        return ()
    return job_scheduling.jobs_for_new_turns(
        tenant_id, lease.id, is_first=noted.is_first, unread_turns=noted.unread_turns
    )


def _add_events(tx: Transaction, lease: Lease, turn_id: UUID, number: int, message: _NewMessage, now: datetime) -> None:
    """Show the message to who follows the session on the web."""
    begun: JsonObject = {"turn_id": str(turn_id), "number": number}
    if author := message.metadata.get("author"):
        begun["answered_by"] = author
    payloads: list[tuple[str, JsonObject]] = [
        ("session", begun),
        ("text_delta", {"text": message.text}),
        ("done", {"message_id": str(message.id), "turn_id": str(turn_id)}),
    ]
    first = lease.last_event_number + 1
    shown = [Event(at, kind, body, turn_id, now) for at, (kind, body) in enumerate(payloads, start=first)]
    store.pass_fence(tx, lease, turn_id, shown[-1].number)
    store.insert_events(tx, lease.id, shown)


def _open_turn(tx: Transaction, session_id: UUID, now: datetime, answers: Collection[str]) -> tuple[Lease, OpenTurn]:
    """Open a turn that no model runs, under the session's lease; Conflict while the agent is answering."""
    lease = store.acquire_lease(tx, session_id, uuid7(now), now, now + _LEASE)
    turn = store.open_person_turn(tx, lease, uuid7(now), now, answers) if lease else None
    if lease is not None and turn is None:
        store.release_lease(tx, lease)  # the sweep goes on in this transaction, and the turn must not wait for it
    if lease is None or turn is None:
        raise Conflict(_BUSY)
    return lease, turn


def get_reply_address(tx: Transaction, session_id: UUID) -> ReplyAddress:
    """Return where a person's message to the session's user goes. NotFound when there is no such session."""
    address = store.find_reply_address(tx, session_id)
    if address is None:
        raise NotFound("session not found")
    return address


def takes_free_text(address: ReplyAddress, now: datetime) -> bool:
    """Return whether the channel takes free text to the user now."""
    return address.channel == "web" or outgoing_message.is_window_open(address.last_inbound_at, now)


def _check_free_text(address: ReplyAddress, text: str, now: datetime) -> str:
    """Return a person's text without the space around it; Conflict where the channel takes none any more."""
    body = text.strip()
    if not body or len(body) > MAX_CHARS:
        raise InvalidRequest(f"text: write from 1 to {MAX_CHARS:,} characters")
    if takes_free_text(address, now):
        return body
    choices = templates.list_choices(address.channel_settings)
    names = ", ".join(dict.fromkeys(template.name for template in choices))
    raise Conflict(
        "the customer wrote more than 24 hours ago, so WhatsApp takes no free text; "
        + (f"choose a template ({names})" if names else "add a template to the binding's channel")
        + ", or wait until they write"
    )


def _canned_texts(tx: Transaction, session_id: UUID) -> CannedTexts:
    persona = bindings.load_persona(tx, get_reply_address(tx, session_id).binding_id)
    return CannedTexts.of_persona(persona) if persona else CannedTexts()
