"""A conversation in the inbox and the rules of its moves. Pure.

    agent -> waiting -> person -> agent | done        the agent answers again in both
               ^  \\-------+-> snoozed -> waiting | person

Every move raises the claim, the fencing token of who answers: a person who lost the conversation writes nothing more.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.errors import Conflict, InvalidRequest

type ThreadState = Literal["agent", "waiting", "person", "snoozed", "done"]

type ThreadReason = Literal[
    "asked", "words", "tool_failed", "unknown_effect", "approval", "held_reply", "failed_turn", "member"
]
"""Why a conversation came to the inbox.

asked           the model asked for a person (`ask_a_person`).
words           the user wrote one of the pack's words for a person.
tool_failed     the same tool failed twice in the conversation.
unknown_effect  nobody knows whether an effect happened.
approval        a question waits for an answer of a role.
held_reply      a reply cannot be sent.
failed_turn     a turn failed.
member          a person of the tenant opened it.
"""

#: The reasons that are over once a person decided what was undecided: the agent goes on by itself.
DECIDED_REASONS: frozenset[ThreadReason] = frozenset({"unknown_effect", "held_reply", "failed_turn"})

#: The reasons for which somebody asked for a person: only a person's answer or move ends the wait.
REQUESTED_REASONS: frozenset[ThreadReason] = frozenset({"asked", "words", "member"})

#: The states in which no turn begins.
HELD_STATES: frozenset[ThreadState] = frozenset({"waiting", "person", "snoozed"})


@dataclass(frozen=True, slots=True)
class Person:
    """Who moves a conversation, or gets it.

    name          as the audit trail has it: `Principal.name`.
    display_name  what the customer and the others read.
    is_admin      whether they may take a conversation away from somebody else.
    """

    name: str
    display_name: str
    is_admin: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation in the inbox.

    claim        the fencing token; `say` names it.
    reason_text  a sentence about the reason; empty when the reason says all.
    instruction  what the next turn reads as the operator's word.
    answered_at  when a person answered first since it was opened.
    closed_at    when it was handed back or done.
    """

    session_id: UUID
    state: ThreadState
    claim: int
    assignee: str | None
    assignee_name: str | None
    reason: ThreadReason
    reason_text: str
    priority: int
    instruction: str | None
    opened_by: str
    opened_at: datetime
    answered_at: datetime | None = None
    closed_at: datetime | None = None
    snoozed_until: datetime | None = None
    first_response_due_at: datetime | None = None
    resolution_due_at: datetime | None = None
    escalation_due_at: datetime | None = None

    @property
    def is_held(self) -> bool:
        """Whether no turn begins."""
        return self.state in HELD_STATES

    @property
    def next_due_at(self) -> datetime | None:
        """When something of it is due next: a clock, or the end of its snooze."""
        times = [self.first_response_due_at, self.resolution_due_at, self.escalation_due_at, self.snoozed_until]
        return min((time for time in times if time), default=None)


def take(thread: Thread, person: Person) -> Thread:
    """Give a waiting conversation to `person`; without effect when they have it already.

    Raises Conflict when somebody else has it, or nobody waits.
    """
    _require_held(thread)
    if thread.state == "person" and thread.assignee == person.name:
        return thread
    if thread.assignee not in (None, person.name):
        raise Conflict(f"{thread.assignee_name} has this conversation; ask them to release or transfer it")
    return _give(thread, person)


def assign(thread: Thread, person: Person, receiver: Person) -> Thread:
    """Give a conversation to `receiver`: one that nobody has, one's own (a transfer), or as an administrator any."""
    _require_mine(thread, person, or_unassigned=True)
    return _give(thread, receiver)


def release(thread: Thread, person: Person) -> Thread:
    """Put a conversation back among those that wait."""
    _require_mine(thread, person)
    return replace(_move(thread, "waiting"), assignee=None, assignee_name=None)


def check_say(thread: Thread, person: Person, claim: int) -> None:
    """Raise Conflict unless `person` has the conversation under this claim."""
    if thread.state == "snoozed":
        raise Conflict("this conversation is snoozed; take it first")
    _require_mine(thread, person, as_admin=False)
    if thread.claim != claim:
        raise Conflict("this conversation was moved since you read it; reload it, then send again")


def hand_back(thread: Thread, person: Person, instruction: str, now: datetime) -> Thread:
    """Let the agent answer again; the next turn reads the instruction."""
    _require_mine(thread, person, or_unassigned=True)
    return replace(_end(thread, "agent", now), instruction=instruction or None)


def end_wait(thread: Thread, reason: ThreadReason, by: str, now: datetime) -> Thread:
    """Let the agent answer again, where the conversation waited for what `by` did now; else without effect.

    A conversation that somebody else has, or in which a person has written, is theirs to hand back.
    """
    is_free = thread.answered_at is None and thread.assignee in (None, by)
    return _end(thread, "agent", now) if thread.is_held and thread.reason == reason and is_free else thread


def redrive(thread: Thread, person: Person, now: datetime) -> Thread:
    """Let the agent answer now; without effect where it may already. Conflict while somebody else has it.

    A conversation for which somebody asked goes on waiting for a person: the turn that is redriven answers in it.
    """
    if not thread.is_held:
        return thread
    if thread.assignee not in (None, person.name):
        raise Conflict(f"{thread.assignee_name} has this conversation; take it first, or ask them to hand it back")
    if thread.assignee is None and thread.reason in REQUESTED_REASONS:
        return thread
    return _end(thread, "agent", now)


def close(thread: Thread, person: Person, now: datetime) -> Thread:
    """End a conversation's stay: nothing in it waits for an answer any more."""
    _require_mine(thread, person, or_unassigned=True)
    return _end(thread, "done", now)


def snooze(thread: Thread, person: Person, until: datetime, now: datetime) -> Thread:
    """Put a conversation off until a time, or until the user writes."""
    _require_mine(thread, person, or_unassigned=True)
    if until <= now:
        raise InvalidRequest("until: name a time in the future")
    return replace(_move(thread, "snoozed"), snoozed_until=until)


def wake(thread: Thread) -> Thread:
    """Bring a snoozed conversation back to who had it, or among those that wait."""
    return replace(_move(thread, "person" if thread.assignee else "waiting"), snoozed_until=None)


def _require_held(thread: Thread) -> None:
    if thread.state == "agent":
        raise Conflict("this conversation was handed back to the agent; open it again to answer")
    if thread.state == "done":
        raise Conflict("this conversation is closed; open it again to answer")


def _require_mine(thread: Thread, person: Person, *, or_unassigned: bool = False, as_admin: bool = True) -> None:
    _require_held(thread)
    if thread.assignee == person.name or (as_admin and person.is_admin):
        return
    if thread.assignee:
        raise Conflict(f"{thread.assignee_name} has this conversation; ask them to release or transfer it")
    if not or_unassigned:
        raise Conflict("nobody has this conversation; take it first")


def _give(thread: Thread, person: Person) -> Thread:
    held = replace(_move(thread, "person"), snoozed_until=None, escalation_due_at=None)
    return replace(held, assignee=person.name, assignee_name=person.display_name)


def _end(thread: Thread, state: ThreadState, now: datetime) -> Thread:
    ended = replace(_move(thread, state), assignee=None, assignee_name=None, closed_at=now, snoozed_until=None)
    return replace(ended, first_response_due_at=None, resolution_due_at=None, escalation_due_at=None)


def _move(thread: Thread, state: ThreadState) -> Thread:
    return replace(thread, state=state, claim=thread.claim + 1)
