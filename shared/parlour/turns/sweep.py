"""The net under the queues: what is due and was left lying is woken again.

A wake-up gets lost when a worker dies between its commit and its message, or when a message ends among the dead
letters. The redelivered message and the duplicate mend the first by themselves, mostly; this mends all of it. Every
piece of work is looked at under its own lock, so nothing is forgotten that comes in at the same moment and two
sweeps wake nothing twice. What is woken is looked at again later, and later each time: it is never dropped, and
one that is broken for good is not hammered.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from parlour.channels import outbox
from parlour.infra import log
from parlour.infra.errors import RetryError
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.infra.queues import Delays, Queue, QueueMessage
from parlour.jobs import work_due
from parlour.jobs.work_due import GRACE, DueWork
from parlour.knowledge.files import uploads
from parlour.knowledge.index import pending
from parlour.memory.order import KINDS, Order
from parlour.tools import calls
from parlour.turns import store
from parlour.turns.linking import over
from parlour.turns.prompts import retention
from parlour.turns.receive import Wake

MOST = 200
"""Pieces of work that one sweep looks at; at some ten milliseconds each."""

_SECONDS_KEPT = 10.0
"""A sweep begins nothing new with less time than this."""

_BATCHES = 10
"""How often one look at a tenant's old prompts removes some of them."""

_LONGEST_WAIT = timedelta(hours=6)
_AFTER_THE_LEASE = timedelta(minutes=1)
_STUMBLED = timedelta(hours=1)

_PLANNED = frozenset({"consolidation", "archive"})
"""Work that nobody else wakes: it is due when it is time for it."""

type Outcome = Literal["woken", "settled", "busy", "overtaken", "stumbled"]


@dataclass(frozen=True, slots=True)
class Net:
    """What a sweep reaches. `turns`: the turn queues by a session's channel; `embedding`: the embedder's; `memory`: of
    those who read what was said.

    ledger_days  for which the records of prompts are kept at least.
    """

    database: Database
    turns: Mapping[str, Queue]
    outbox: Queue
    tools: Queue
    ingest: Queue
    embedding: Delays
    memory: Delays
    wakeups: Delays
    clock: Callable[[], datetime]
    ledger_days: int = 30


@dataclass(frozen=True, slots=True)
class Swept:
    """What became of what was due; `left` when there was more than fitted."""

    woken: int
    settled: int
    busy: int
    left: bool


@dataclass(frozen=True, slots=True)
class Looked:
    """What became of one piece of work, and when it is looked at again."""

    outcome: Outcome
    again: datetime | None = None
    woken: "Lying | None" = None


@dataclass(frozen=True, slots=True)
class Lying:
    """Work that is not done: since when, until when somebody is at it, and what wakes it."""

    since: datetime
    busy_until: datetime | None
    wake: Callable[[], None]


def sweep(net: Net, seconds_left: SecondsLeft) -> Swept:
    """Look at what is due in any tenant, longest first. Raises RetryError when the database or a queue is away."""
    found = net.database.run(None, lambda tx: work_due.overdue(tx, net.clock(), MOST + 1))
    outcomes: list[Outcome] = []
    for due in found[:MOST]:
        if seconds_left() < _SECONDS_KEPT:
            break
        outcomes.append(_look_safely(net, due))
    left = len(outcomes) < len(found)
    if left:
        log.count("SweepBehind")
    counted = Counter(outcomes)
    swept = Swept(counted["woken"], counted["settled"], counted["busy"], left)
    log.info("swept", woken=swept.woken, settled=swept.settled, busy=swept.busy, left=left)
    return swept


def wake_up(net: Net, body: JsonObject) -> None:
    """Look at the one piece of work that a wake-up is about, if it is due; else have the wake-up come again.

    A wake-up that is early does not touch the database.
    """
    due, now = DueWork.from_json(body), net.clock()
    if due.due_at <= now:
        found = net.database.run(due.tenant_id, lambda tx: work_due.find(tx, due.kind, due.id))
        if found is None:
            return
        due = _look_now(net, found) if found.due_at <= now else found
    if due.due_at > now:
        work_due.send_wakeup(net.wakeups, due, now)


def _look_now(net: Net, due: DueWork) -> DueWork:
    """`due`, or when to look again at one that somebody is at. What was woken is its queue's matter from now on."""
    looked = _look(net, due)
    return replace(due, due_at=looked.again) if looked.outcome == "busy" and looked.again else due


def _look_safely(net: Net, due: DueWork) -> Outcome:
    """One that breaks the look is put off: it must not stand in the way of all the others, time after time."""
    try:
        return _look(net, due).outcome
    except RetryError:
        raise
    except Exception as problem:  # noqa: BLE001 - logged and counted, and the work stays due
        log.error("sweep_stumbled", problem, tenant_id=due.tenant_id, kind=due.kind, id=due.id)
        log.count("Poison")
        later = net.clock() + _STUMBLED
        net.database.run(due.tenant_id, lambda tx: work_due.reschedule(tx, due, later))
        return "stumbled"


def _look(net: Net, due: DueWork) -> Looked:
    """Wake, put off or settle. Committed before the message is sent: should that fail, the work is due again later."""
    now = net.clock()
    if due.kind == "ledgers":
        return _let_old_prompts_go(net, due, now)

    def decide(tx: Transaction) -> Looked:
        lying = _FINDERS[due.kind](net, tx, due)
        if lying is None:
            work_due.complete(tx, due.kind, due.id)
            return Looked("settled")
        if lying.busy_until and lying.busy_until > now:
            looked = Looked("busy", lying.busy_until + _AFTER_THE_LEASE)
        else:
            looked = Looked("woken", now + _back_off(now - lying.since), lying)
        return looked if looked.again and work_due.reschedule(tx, due, looked.again) else Looked("overtaken")

    looked = net.database.run(due.tenant_id, decide)
    if looked.woken is not None:
        late = int((now - due.due_at).total_seconds())
        tell = log.info if due.kind in _PLANNED else log.warning
        tell("left_lying", tenant_id=due.tenant_id, kind=due.kind, id=due.id, late=late)
        looked.woken.wake()
    return looked


def _let_old_prompts_go(net: Net, due: DueWork, now: datetime) -> Looked:
    """Remove what was kept of prompts long enough, a bounded number at a time; then until the next month is due."""
    keep_for = timedelta(days=net.ledger_days)
    for _ in range(_BATCHES):
        if not net.database.run(due.tenant_id, lambda tx: retention.drop(tx, now - keep_for)):
            break

    def decide(tx: Transaction) -> Looked:
        over_at = retention.next_over(tx)
        if over_at is None:
            work_due.complete(tx, due.kind, due.id)
            return Looked("settled")
        again = max(over_at + keep_for, now + GRACE)
        return Looked("settled", again) if work_due.reschedule(tx, due, again) else Looked("overtaken")

    return net.database.run(due.tenant_id, decide)


def _back_off(age: timedelta) -> timedelta:
    """As long as it has waited already: 5 minutes, 10, 20 ... 6 hours."""
    return min(max(age, GRACE), _LONGEST_WAIT)


def _session(net: Net, tx: Transaction, due: DueWork) -> Lying | None:
    """A session in which something is unanswered, or a turn open that nobody is at."""
    held = store.hold_session(tx, due.id)
    since = store.waiting_since(tx, due.id) if held else None
    if held is None or since is None:
        return None
    queue = net.turns.get(held.channel) or net.turns["whatsapp"]
    return Lying(since, held.lease_until, _send(queue, Wake(due.tenant_id, due.id).message(_once(due))))


def _outbox(net: Net, tx: Transaction, due: DueWork) -> Lying | None:
    """A reply that was not sent. One that is being sent as far as anybody knows is woken too: its sender is gone, for
    else its message would still hold back ours, and the next one writes down that nobody knows."""
    waiting = outbox.left_lying(tx, due.id)
    if waiting is None:
        return None
    message = outbox.message(due.tenant_id, waiting.session_id, due.id, _once(due))
    return Lying(waiting.created_at, None, _send(net.outbox, message))


def _tool_call(net: Net, tx: Transaction, due: DueWork) -> Lying | None:
    """A long call that has not ended and that no dispatcher is at."""
    waiting = calls.left_lying(tx, due.id)
    if waiting is None:
        return None
    message = calls.dispatch_message(due.tenant_id, due.id, int(due.due_at.timestamp()))
    return Lying(waiting.started_at, waiting.run_until, _send(net.tools, message))


def _embedding(net: Net, tx: Transaction, due: DueWork) -> Lying | None:
    """A tenant's rows that nobody embedded. The embedder itself takes the mark away, under its lock."""
    held = work_due.leased_until(tx, due.kind, due.id)
    return Lying(pending.since(tx) or due.due_at, held, lambda: pending.nudge(net.embedding, due.tenant_id))


def _record_type(net: Net, _tx: Transaction, due: DueWork) -> Lying | None:
    """A type whose records are to be described anew: the embedder's work too, tenant by tenant."""
    return Lying(due.due_at, None, lambda: pending.nudge(net.embedding, due.tenant_id))


def _file(net: Net, tx: Transaction, due: DueWork) -> Lying | None:
    """A file that has arrived and was not read, or was said to come and whose arrival nobody told."""
    waiting = uploads.left_lying(tx, due.id)
    if waiting is None:
        return None
    message = uploads.message(due.tenant_id, due.id, waiting.version, _once(due))
    return Lying(waiting.updated_at, None, _send(net.ingest, message))


def _memory(net: Net, tx: Transaction, due: DueWork) -> Lying | None:
    """Something to be remembered. Who does it takes the mark away, under its lock, and puts it off when a try gave
    nothing: what is due is due, however late it is."""
    held = work_due.leased_until(tx, due.kind, due.id)
    kind = next(kind for kind in KINDS if kind == due.kind)
    order = Order(due.tenant_id, kind, due.id).to_json()
    return Lying(net.clock(), held, lambda: net.memory.send(order, 0.0))


def _phone_link(net: Net, tx: Transaction, due: DueWork) -> Lying | None:
    """A code that was sent to a number: once it is over nothing is left of it."""
    until = over.end(tx, due.id, net.clock())
    return Lying(due.due_at, until, lambda: None) if until else None


def _send(queue: Queue, message: QueueMessage) -> Callable[[], None]:
    return lambda: queue.send([message])


_FINDERS: Mapping[work_due.Kind, Callable[[Net, Transaction, DueWork], Lying | None]] = {
    "session": _session,
    "outbox": _outbox,
    "tool_call": _tool_call,
    "embedding": _embedding,
    "record_type": _record_type,
    "file": _file,
    "phone_link": _phone_link,
    **dict.fromkeys(KINDS, _memory),
}


def _once(due: DueWork) -> str:
    """A de-duplication id of its own: not that of the message that got lost."""
    return f"{due.id}:due:{due.due_at.isoformat()}"
