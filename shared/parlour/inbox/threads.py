"""The moves of a conversation in the inbox: each locks the session, applies its rule, and leaves an event.

What has to be sent or woken after a move is done by `conversations.people`, which calls these.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID, uuid5

from parlour.inbox import store
from parlour.inbox import thread as rules
from parlour.inbox.events import EventKind, NewEvent, add_event
from parlour.inbox.service_hours import Service
from parlour.inbox.store import ContextRow, MemberRow, ThreadCounts, ThreadFilter, ThreadRow, UnheardThread
from parlour.inbox.thread import Person, Thread, ThreadReason
from parlour.infra import log
from parlour.infra.errors import Conflict, InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.page_cursor import Page, cut_page, decode_position, parse_time
from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.principal import RESTRICTED, Principal, system_principal
from parlour.tenancy import audit, users
from parlour.tenancy.roles import require_role

__all__ = ["Opening", "ThreadCounts", "ThreadFilter", "ThreadRow", "UnheardThread"]

#: The tenant's texts for people to insert: {name: {language: text}}.
SAVED_REPLIES_SETTING = "saved_replies"

#: Characters of a note.
MAX_NOTE_CHARS = 4_000

#: Characters of an instruction: it is in every prompt of the next turn.
MAX_INSTRUCTION_CHARS = 500

#: How much more urgent a conversation is once it waited too long.
ESCALATED_PRIORITY = 1

_SUPPORT_NAME = "Support"
"""How customers read a caller who is no member: an API key or the operator."""

_READER_ROLE = "viewer"
_ANSWERER_ROLES = frozenset({"viewer", "editor"})
"""Who answers reads conversations and writes."""

_MAX_ANSWERERS = 200

type Answering = Literal["agent", "waiting", "person"]
"""Who answers in a session: its agent; nobody yet, because a person is needed; a person."""

type Rule = Callable[[Thread], Thread]


@dataclass(frozen=True, slots=True)
class Opening:
    """A conversation as it entered the inbox. is_new: it was not held before. service: its binding's times."""

    thread: Thread
    is_new: bool
    service: Service


def person_of(principal: Principal, tx: Transaction) -> Person:
    """Return the principal as a person of the inbox. Needs the roles viewer and editor."""
    for role in sorted(_ANSWERER_ROLES):
        require_role(principal, role)
    return Person(principal.name, _display_name(principal, tx), is_admin=principal.has_role("admin"))


def list_answerers(principal: Principal, tx: Transaction, session_id: UUID | None = None) -> list[MemberRow]:
    """Return the members to whom a conversation may be given, by name: at most 200. For those who answer themselves.

    session_id  list only those who may read this conversation. NotFound when the principal may not.
    """
    person_of(principal, tx)
    clearance = users.get_session(principal, tx, session_id).required_clearance if session_id else 0
    return store.list_answerers(tx, _ANSWERER_ROLES, clearance, _MAX_ANSWERERS)


def who_answers(tx: Transaction, session_id: UUID) -> tuple[Answering, str | None]:
    """Return who answers in a session now, and the person's name."""
    found = store.find_thread(tx, session_id)
    if found is None or not found.is_held:
        return "agent", None
    return ("person", found.assignee_name) if found.state == "person" else ("waiting", None)


def open_thread(
    principal: Principal,
    tx: Transaction,
    session_id: UUID,
    reason: ThreadReason,
    text: str,
    now: datetime,
    *,
    is_flood: bool = False,
) -> Opening:
    """Bring a session to the inbox, where it waits for a person; one that is held already stays as it is.

    text  a sentence about the reason, for people of the tenant. is_flood: nobody is mailed of it at once.
    NotFound when there is no such session.
    """
    found = _lock(tx, session_id)
    service = Service.parse(found.settings)
    if found.thread and found.thread.is_held:
        return Opening(found.thread, is_new=False, service=service)
    opened = Thread(
        session_id,
        "waiting",
        claim=found.thread.claim + 1 if found.thread else 1,
        assignee=None,
        assignee_name=None,
        reason=reason,
        reason_text=text,
        priority=0,
        instruction=None,
        opened_by=principal.name,
        opened_at=now,
        first_response_due_at=service.due_at(now, service.first_response_minutes),
        resolution_due_at=service.due_at(now, service.resolution_minutes),
        escalation_due_at=service.due_at(now, service.waiting_minutes),
    )
    details: JsonObject = {"reason": reason, "priority": opened.priority, **({"is_flood": True} if is_flood else {})}
    _save(principal, tx, opened, NewEvent(uuid7(now), session_id, "opened", principal.name, now, details=details))
    log.count("InboxOpened")
    if store.list_unheard(tx, RESTRICTED, 1, session_id):
        log.warning("conversation_unheard", tenant_id=principal.tenant_id, session_id=session_id)
        log.count("UnheardConversation")
    return Opening(opened, is_new=True, service=service)


def list_unheard_threads(
    principal: Principal, tx: Transaction, limit: int, session_id: UUID | None = None
) -> list[UnheardThread]:
    """Return conversations, or one, that wait for a person while nobody was notified, oldest first. Needs viewer."""
    require_role(principal, _READER_ROLE)
    return store.list_unheard(tx, principal.clearance, limit, session_id)


def has_service(tx: Transaction, session_id: UUID) -> bool:
    """Whether the session's binding has an `inbox` setting: people answer its conversations."""
    found = store.lock_thread(tx, session_id)
    return found is not None and bool(found.settings)


def open_for_held_reply(tx: Transaction, tenant_id: UUID, session_id: UUID, now: datetime) -> None:
    """Bring a conversation to the inbox one of whose replies was held since it was last there.

    The user is not told: their channel takes no text.
    """
    found = store.lock_thread(tx, session_id)
    if found is None or not found.settings:
        return
    last_closed_at = (found.thread and found.thread.closed_at) or datetime.min.replace(tzinfo=UTC)
    if store.find_undecided_reason(tx, session_id, held_after=last_closed_at):
        open_thread(system_principal(tenant_id), tx, session_id, "held_reply", "", now)


def take(principal: Principal, tx: Transaction, session_id: UUID, now: datetime) -> Thread:
    """Give a waiting conversation to the principal; exactly one of several gets it."""
    person = person_of(principal, tx)
    return _apply(principal, tx, session_id, lambda thread: rules.take(thread, person), "taken", now)


def assign(principal: Principal, tx: Transaction, session_id: UUID, member_id: UUID, now: datetime) -> Thread:
    """Give a conversation to a member who may read and answer it. InvalidRequest when they may not."""
    person = person_of(principal, tx)
    member = store.find_member(tx, member_id)
    if member is None or not member.active or not member.has_roles(_ANSWERER_ROLES):
        raise InvalidRequest("member_id: name an active member with the roles viewer and editor, or admin")
    if member.clearance < users.get_session(principal, tx, session_id).required_clearance:
        raise InvalidRequest(
            "member_id: this member's clearance is too low to read the conversation; "
            "GET /v1/inbox/members?session_id= lists who may"
        )
    receiver = Person(f"member:{member.id}", member.display_name)
    return _apply(principal, tx, session_id, lambda thread: rules.assign(thread, person, receiver), "assigned", now)


def release(principal: Principal, tx: Transaction, session_id: UUID, now: datetime) -> Thread:
    """Put a conversation back among those that wait."""
    person = person_of(principal, tx)
    return _apply(principal, tx, session_id, lambda thread: rules.release(thread, person), "released", now)


def hand_back(principal: Principal, tx: Transaction, session_id: UUID, instruction: str, now: datetime) -> Thread:
    """Let the agent answer again; the next turn reads the instruction."""
    person, text = person_of(principal, tx), instruction.strip()
    if len(text) > MAX_INSTRUCTION_CHARS:
        raise InvalidRequest(f"instruction: at most {MAX_INSTRUCTION_CHARS} characters")
    return _apply(
        principal, tx, session_id, lambda one: rules.hand_back(one, person, text, now), "handed_back", now, text
    )


def end_wait(
    principal: Principal, tx: Transaction, session_id: UUID, reason: ThreadReason, now: datetime
) -> Thread | None:
    """Let the agent answer again where the conversation waited for what the principal did now; None where it did not.

    The caller has checked that the principal may do it: whoever is asked for an approval need not answer in the inbox.
    """
    before = _lock(tx, session_id).thread
    after = rules.end_wait(before, reason, principal.name, now) if before else None
    if after is None or after is before:
        return None
    name = _display_name(principal, tx)
    _save(principal, tx, after, NewEvent(uuid7(now), session_id, "handed_back", principal.name, now, name))
    return after


def settle(tx: Transaction, session_id: UUID, now: datetime) -> Thread | None:
    """Let the agent go on where nothing is undecided any more and nobody has taken the conversation.

    None when nothing changes. The caller wakes the agent.
    """
    thread = _lock(tx, session_id).thread
    if thread is None or thread.reason not in rules.DECIDED_REASONS or store.find_undecided_reason(tx, session_id):
        return None
    settled = rules.end_wait(thread, thread.reason, "", now)
    if settled is thread:
        return None
    record_clock(tx, settled, "handed_back", {}, now)
    return settled


def redrive(principal: Principal, tx: Transaction, session_id: UUID, now: datetime) -> None:
    """Let the agent answer at once, if it may not already. Conflict while somebody else has the conversation."""
    if _lock(tx, session_id).thread is None:
        return
    person = person_of(principal, tx)
    _apply(principal, tx, session_id, lambda thread: rules.redrive(thread, person, now), "handed_back", now)


def close(principal: Principal, tx: Transaction, session_id: UUID, now: datetime) -> Thread:
    """End a conversation's stay in the inbox."""
    person = person_of(principal, tx)
    return _apply(principal, tx, session_id, lambda thread: rules.close(thread, person, now), "closed", now)


def snooze(principal: Principal, tx: Transaction, session_id: UUID, until: datetime, now: datetime) -> Thread:
    """Put a conversation off until a time, or until the user writes."""
    person = person_of(principal, tx)
    return _apply(principal, tx, session_id, lambda thread: rules.snooze(thread, person, until, now), "snoozed", now)


def add_note(
    principal: Principal, tx: Transaction, session_id: UUID, text: str, now: datetime, client_id: str = ""
) -> UUID:
    """Store a private note, which no prompt and no user reads; return its id.

    client_id  a repeat with the same one is stored once; "" for none.
    """
    person, body = person_of(principal, tx), text.strip()
    if not body:
        raise InvalidRequest("text: write something")
    if len(body) > MAX_NOTE_CHARS:
        raise InvalidRequest(f"text: at most {MAX_NOTE_CHARS:,} characters")
    _get(principal, tx, session_id)
    note_id = uuid5(session_id, f"note:{person.name}:{client_id}") if client_id else uuid7(now)
    add_event(tx, NewEvent(note_id, session_id, "noted", person.name, now, person.display_name, body=body))
    audit.add_entry(principal, tx, "conversation.noted", f"session:{session_id}", {}, now, note_id)
    return note_id


def check_say(principal: Principal, tx: Transaction, session_id: UUID, claim: int) -> tuple[Thread, Person]:
    """Return the locked conversation and its person; Conflict unless the principal has it under this claim."""
    person = person_of(principal, tx)
    thread = _get(principal, tx, session_id)
    rules.check_say(thread, person, claim)
    return thread, person


def record_answer(
    principal: Principal, tx: Transaction, thread: Thread, person: Person, message_id: UUID, now: datetime
) -> None:
    """Note that the person wrote; the first answer stops its clock. The caller holds the lock of `check_say`."""
    answered = replace(thread, answered_at=thread.answered_at or now, first_response_due_at=None)
    event = NewEvent(
        uuid7(now),
        thread.session_id,
        "said",
        person.name,
        now,
        person.display_name,
        message_id,
        details={"by": "person"},
    )
    _save(principal, tx, answered, event)


def record_clock(tx: Transaction, thread: Thread, kind: EventKind, details: JsonObject, now: datetime) -> None:
    """Store what a clock or a decision did to a conversation, as the system."""
    store.save_thread(tx, thread, now)
    add_event(tx, NewEvent(uuid7(now), thread.session_id, kind, "system", now, details=details))


def lock_for_clock(tx: Transaction, session_id: UUID) -> Thread | None:
    """Return the locked conversation; None when it is not in the inbox."""
    found = store.lock_thread(tx, session_id)
    return found.thread if found else None


def get_thread(principal: Principal, tx: Transaction, session_id: UUID) -> ThreadRow:
    """Return one conversation of the inbox; NotFound when the viewer may not see it, or it never was in the inbox."""
    require_role(principal, _READER_ROLE)
    rows = store.list_threads(tx, principal.clearance, ThreadFilter(session_id=session_id), 1)
    if not rows:
        raise NotFound("this conversation is not in the inbox")
    return rows[0]


def read_context(principal: Principal, tx: Transaction, session_id: UUID) -> ContextRow:
    """Return what a person needs to know of a conversation that they may see: call `get_thread` first."""
    return store.read_context(tx, session_id, principal.clearance)


def list_threads(
    principal: Principal, tx: Transaction, filters: ThreadFilter, limit: int, cursor: str = ""
) -> Page[ThreadRow]:
    """Return a page of the inbox, the most urgent and the oldest first. InvalidRequest for a bad cursor."""
    require_role(principal, _READER_ROLE)
    after = decode_position(cursor, int, parse_time, UUID) if cursor else None
    rows = store.list_threads(tx, principal.clearance, filters, limit + 1, after)
    return cut_page(rows, limit, lambda row: (row.thread.priority, row.thread.opened_at, row.thread.session_id))


def count_threads(principal: Principal, tx: Transaction) -> ThreadCounts:
    """Return how many conversations are held, for badges."""
    require_role(principal, _READER_ROLE)
    return store.count_threads(tx, principal.clearance, principal.name)


def clear_instruction(tx: Transaction, session_id: UUID, instruction: str) -> None:
    """Forget an instruction, in the transaction of the reply that followed it."""
    store.clear_instruction(tx, session_id, instruction)


def _display_name(principal: Principal, tx: Transaction) -> str:
    member = store.find_member(tx, principal.id) if principal.kind == "member" and principal.id else None
    return member.display_name if member else _SUPPORT_NAME


def _lock(tx: Transaction, session_id: UUID) -> store.LockedThread:
    found = store.lock_thread(tx, session_id)
    if found is None:
        raise NotFound("session not found")
    return found


def _get(principal: Principal, tx: Transaction, session_id: UUID) -> Thread:
    found = _lock(tx, session_id)
    if not users.can_read_session(principal, tx, session_id):
        raise NotFound("session not found")
    if found.thread is None:
        raise Conflict("this conversation is not in the inbox; open it first")
    return found.thread


def _apply(
    principal: Principal,
    tx: Transaction,
    session_id: UUID,
    rule: Rule,
    kind: EventKind,
    now: datetime,
    body: str = "",
) -> Thread:
    """Apply a rule to the locked conversation; without effect where the rule changes nothing."""
    before = _get(principal, tx, session_id)
    after = rule(before)
    if after is not before:
        name = person_of(principal, tx).display_name
        event = NewEvent(uuid7(now), session_id, kind, principal.name, now, name, body=body, details=_details(after))
        _save(principal, tx, after, event)
    return after


def _details(thread: Thread) -> JsonObject:
    values: Mapping[str, str | None] = {
        "assignee": thread.assignee,
        "until": thread.snoozed_until.isoformat() if thread.snoozed_until else None,
    }
    return {name: value for name, value in values.items() if value}


def _save(principal: Principal, tx: Transaction, thread: Thread, event: NewEvent) -> None:
    """Store what a move leaves, with its event and its audit row, and keep its clocks due."""
    store.save_thread(tx, thread, event.at)
    add_event(tx, event)
    if due_at := thread.next_due_at:
        work_due.schedule(tx, "inbox", thread.session_id, due_at)
    target = f"session:{thread.session_id}"
    audit.add_entry(principal, tx, f"conversation.{event.kind}", target, event.details, event.at)
