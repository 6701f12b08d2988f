"""What needs a person, and what a person decides about it; the right queue is woken once that is committed."""

from collections.abc import Callable, Sequence
from uuid import UUID

from fastapi import APIRouter

from parlour.api.access import Admin, AnyCaller, Caller, Viewer
from parlour.api.schemas import CallSettled, SendSettled, TurnSettled
from parlour.channels import outbox
from parlour.channels.outbox import StuckSend
from parlour.infra import log
from parlour.infra.errors import QueueUnavailable
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.models import spend
from parlour.models.spend import SpendToday
from parlour.principal import Principal
from parlour.tenancy import audit, people, roles
from parlour.tools import calls
from parlour.tools.calls import EndedCall, UnknownCall
from parlour.turns import read, redrive, resume
from parlour.turns.records import ParkedTurn
from parlour.turns.resume import ToWake

router = APIRouter(prefix="/v1", tags=["attention"])

_MOST = 100
_DIGITS = 4
"""Of a phone number that are shown, so that whoever knows the person recognises it."""

_ALL = 100
"""Percent."""

_LATER = (
    "The queue does not answer just now. It is picked up by itself: within minutes, or where the database pauses "
    "within a day."
)

type Wake = Callable[[], None]
"""Sends to the queue that goes on from here, once the decision is committed. Raises QueueUnavailable."""


@router.get("/attention")
def show_attention(caller: Viewer) -> JsonObject:
    """Everything of the tenant that waits for a person, oldest first, and today's spend against the cap."""
    who = caller.principal
    with caller.transaction() as tx:
        unknown = _readable(who, tx, calls.unknown(who, tx, _MOST + 1))
        stuck = _readable(who, tx, outbox.needing_a_person(who, tx, _MOST + 1))
        parked = redrive.parked(who, tx, _MOST + 1)
        today = spend.today(who, tx, caller.services.default_cap, caller.now)
    told = [_call(one) for one in unknown], [_send(one) for one in stuck], [_turn(one) for one in parked]
    return _shown(*told, _spend(today))


@router.post("/attention/tool-calls/{call_id}")
def settle_tool_call(call_id: UUID, said: CallSettled, caller: Admin) -> JsonObject:
    """A tool call was done after all; or it was not, and is run again under the same key."""
    with caller.transaction() as tx:
        ended = calls.resolve(caller.principal, tx, call_id, said.how, caller.now)
        wake = _told(caller, tx, [ended] if ended else [])
        _note(caller, tx, "tool_call.resolved", f"tool_call:{call_id}", {"how": said.how})
    if ended:
        return _settled("The agent is told that this was done, and the conversation goes on.", wake)
    message = calls.dispatch_message(caller.principal.tenant_id, call_id, int(caller.now.timestamp()))
    return _settled("It is run again now.", lambda: caller.services.tools.send([message]))


@router.post("/attention/sends/{outbox_id}")
def settle_send(outbox_id: UUID, said: SendSettled, caller: Admin) -> JsonObject:
    """A reply arrived; or it did not, and is sent again or let be."""
    who, queue = caller.principal, caller.services.outbox
    with caller.transaction() as tx:
        unsent = outbox.resolve(who, tx, outbox_id, said.how, caller.now)
        _note(caller, tx, "send.resolved", f"outbox:{outbox_id}", {"how": said.how})
    arrived = said.how == "arrived"
    if unsent is None:
        return _settled("It counts as sent." if arrived else "It is let be, and not sent.")
    once = f"{unsent.id}:resolved:{caller.now.isoformat()}"  # a held one was never tried: no new number
    message = outbox.message(who.tenant_id, unsent.session_id, unsent.id, once)
    return _settled(
        "It counts as sent as far as that; what follows is sent now." if arrived else "It is sent again now.",
        lambda: queue.send([message]),
    )


@router.get("/attention/failed-sends")
def show_failed_sends(caller: Viewer) -> JsonObject:
    """The replies of the last week that failed, latest first; they may be sent after all, but nothing waits for it."""
    with caller.transaction() as tx:
        found = outbox.failed(caller.principal, tx, caller.now, _MOST + 1)
    return {"sends": [_send(one) for one in found[:_MOST]], "more": len(found) > _MOST}


@router.post("/attention/failed-sends/{outbox_id}/redrive")
def redrive_send(outbox_id: UUID, caller: Admin) -> JsonObject:
    """A reply that failed is sent after all, once what was in its way is mended."""
    who, queue = caller.principal, caller.services.outbox
    with caller.transaction() as tx:
        unsent = outbox.redrive(who, tx, outbox_id, caller.now)
        _note(caller, tx, "send.redriven", f"outbox:{outbox_id}")
    once = f"{unsent.id}:redriven:{caller.now.isoformat()}"
    message = outbox.message(who.tenant_id, unsent.session_id, unsent.id, once)
    return _settled("It is sent again now.", lambda: queue.send([message]))


@router.post("/attention/turns/{turn_id}")
def settle_turn(turn_id: UUID, said: TurnSettled, caller: Admin) -> JsonObject:
    """The turn goes on from what it has done, and is answered; or it stays unanswered."""
    with caller.transaction() as tx:
        read.turn(caller.principal, tx, turn_id)  # what is not the caller's to see is not found
        if said.how == "dismiss":
            redrive.dismiss(caller.principal, tx, turn_id, caller.now)
            _note(caller, tx, "turn.dismissed", f"turn:{turn_id}")
            return _settled("It is let be, and stays unanswered.")
        waking = redrive.redrive(caller.principal, tx, turn_id, caller.now)
        _note(caller, tx, "turn.redriven", f"turn:{turn_id}")
    return _settled("It is answered now.", lambda: _send_all(caller, [waking]))


@router.post("/tool-calls/{call_id}/cancel")
def cancel_tool_call(call_id: UUID, caller: Admin) -> JsonObject:
    """Stop a heavy tool call; the conversation is told, and its result is not awaited any more."""
    with caller.transaction() as tx:
        ended = calls.cancel(caller.principal, tx, call_id, caller.now)
        wake = _told(caller, tx, [ended] if ended else [])
        _note(caller, tx, "tool_call.cancelled", f"tool_call:{call_id}")
    if ended and ended.state == "unknown":
        return _settled("It could not be called off any more, so nobody knows whether it is done: find out.", wake)
    return _settled("It is cancelled." if ended else "It is being stopped; that takes a second or so.", wake)


@router.post("/sessions/{session_id}/cancel")
def cancel_session(session_id: UUID, caller: AnyCaller) -> JsonObject:
    """Stop the heavy tool calls of a session: of one's own, or as an administrator of the tenant."""
    if caller.principal.kind != "user":
        roles.require(caller.principal, "admin")
    with caller.transaction() as tx:
        caller.check_session(tx, session_id)
        amount, ended = calls.cancel_all(tx, session_id, caller.now)
        wake = _told(caller, tx, ended)
        if amount and caller.principal.kind != "user":
            _note(caller, tx, "session.cancelled", f"session:{session_id}", {"tool_calls": amount})
    told = "Nothing is running." if not amount else f"{amount} {'is' if amount == 1 else 'are'} being stopped."
    return {**_settled(told, wake), "tool_calls": amount}


def _readable[Item: (UnknownCall, StuckSend)](who: Principal, tx: Transaction, found: Sequence[Item]) -> list[Item]:
    """What may be shown to them: in a conversation with somebody of more clearance than theirs there may be more."""
    sessions = {one.session_id for one in found}
    shown = {session_id for session_id in sessions if people.may_read(who, tx, session_id)}
    return [one for one in found if one.session_id in shown]


def _told(caller: Caller, tx: Transaction, ended: Sequence[EndedCall]) -> Wake | None:
    """Write what the calls came to into their conversations; waking those is for after the commit."""
    who, new_id = caller.principal, caller.services.new_id
    stored = [resume.tool_ended(tx, who.tenant_id, one, new_id, caller.now) for one in ended]
    waking = [one for one in stored if one]
    return (lambda: _send_all(caller, waking)) if waking else None


def _send_all(caller: Caller, waking: Sequence[ToWake]) -> None:
    for one in waking:
        caller.services.by_channel[one.channel].send([one.message])


def _note(caller: Caller, tx: Transaction, action: str, target: str, details: JsonObject | None = None) -> None:
    audit.record(caller.principal, tx, action, target, details or {}, caller.now, caller.services.new_id)


def _settled(message: str, wake: Wake | None = None) -> JsonObject:
    """The answer to a decision that is committed; what cannot be woken now is left to the sweep, and said so."""
    try:
        if wake:
            wake()
    except QueueUnavailable as problem:
        log.warning("wake_deferred", code=problem.code)
        return {"message": f"{message} {_LATER}", "woken": False}
    return {"message": message, "woken": True}


def _shown(
    tool_calls: Sequence[JsonObject], sends: Sequence[JsonObject], turns: Sequence[JsonObject], spending: JsonObject
) -> JsonObject:
    lists = {"tool_calls": tool_calls, "sends": sends, "turns": turns}
    counts = {name: min(len(items), _MOST) for name, items in lists.items()}
    counts["spend"] = 1 if spending["problem"] else 0
    return {
        **{name: [*items[:_MOST]] for name, items in lists.items()},
        "spend": spending,
        "counts": {**counts, "total": sum(counts.values())},
        "more": any(len(items) > _MOST for items in lists.values()),
    }


def _call(one: UnknownCall) -> JsonObject:
    return {
        "id": str(one.id), "turn_id": str(one.turn_id), "session_id": str(one.session_id), "tool": one.name,
        "arguments": one.arguments, "runs": one.runs, "at": one.started_at.isoformat(),
    }  # fmt: skip


def _send(one: StuckSend) -> JsonObject:
    return {
        "id": str(one.id), "turn_id": str(one.turn_id) if one.turn_id else None, "session_id": str(one.session_id),
        "state": one.state, "channel": one.channel, "recipient": f"…{one.recipient[-_DIGITS:]}", "text": one.text,
        "why": one.problem or "", "at": one.created_at.isoformat(),
    }  # fmt: skip


def _turn(one: ParkedTurn) -> JsonObject:
    return {
        "id": str(one.id), "turn_id": str(one.id), "session_id": str(one.session_id), "channel": one.channel,
        "binding": one.binding, "texts": [*one.texts], "problem": one.problem or "", "attempts": one.attempts,
        "at": one.finished_at.isoformat(),
    }  # fmt: skip


def _spend(today: SpendToday) -> JsonObject:
    """`problem` says in a sentence why no model is called any more; empty while they are.

    A call is refused when its worst case does not fit, which may be well short of the cap. People were told of 100 %
    then, but half of a cap that was raised since is not reached.
    """
    reached = today.warned >= _ALL and today.spent * 2 >= today.cap
    problem = ""
    if today.stopped:
        problem = "Model calls are switched off, so everybody is told to come back later."
    elif reached:
        problem = "Today's cap is reached, so people are told to come back later. It starts anew at 0:00 UTC."
    return {
        "spent_usd": f"{today.spent:f}", "reserved_usd": f"{today.reserved:f}", "cap_usd": f"{today.cap:f}",
        "stopped": today.stopped, "reached": reached, "problem": problem,
    }  # fmt: skip
