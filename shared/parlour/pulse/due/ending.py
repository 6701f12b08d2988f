"""A try at a record's Pulses begins and ends: who is at it, what they tell of then, when somebody looks at them again.

In the transaction that ends it the record is locked before its due work, as those who mark it do.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.knowledge.records import stale
from parlour.knowledge.records.stale import Unreflected
from parlour.pulse.due import budget, rules, store

KIND: work_due.Kind = "pulse"


def begin(tx: Transaction, record_id: UUID, held_until: datetime, now: datetime) -> bool:
    """Be the only one at the record's Pulses until then. False when another is, or when nobody asks for them: a message
    that comes twice, the second time after they were written, is no cause to write them within their next window."""
    store.hold_record(tx, record_id)  # who ends with it holds it as well: asked for and held are one look
    if not store.is_asked(tx, record_id) or not work_due.lease(tx, KIND, record_id, held_until, now):
        return False
    stale.count(tx, record_id)
    return True


def is_ours(tx: Transaction, record_id: UUID, held_until: datetime) -> bool:
    """Whether the record's Pulses are still one's own to write; if so nobody marks them or takes them before the
    transaction ends. Asked first in it: who took too long has lost them to another, and writes nothing."""
    store.hold_record(tx, record_id)
    return work_due.lock(tx, KIND, record_id, held_until) is not None


def written(
    tx: Transaction,
    record_id: UUID,
    seen: Unreflected,
    read_at: datetime,
    *,
    window: timedelta,
    age: timedelta,
    held_until: datetime,
    cost_usd: Decimal | None,
    now: datetime,
) -> None:
    """The record's Pulses, which are ours, tell of what was `seen` at `read_at`, newly written or found to be as they
    should.

    window    its kind's; age: after which they are looked at although nothing changed.
    cost_usd  of the model calls; None when there was none.

    What changed after the reading stays, and is due when its window is over.
    """
    since = stale.tell(tx, record_id, seen, read_at)
    store.note_written(tx, record_id, cost_usd)
    work_due.release(tx, KIND, record_id, held_until, rules.look_at(since, window, now, age))


def failed(
    tx: Transaction, record_id: UUID, problem: str, held_until: datetime, now: datetime, level: int | None = None
) -> int:
    """A try came to nothing, `problem` says why: what there is stays, and the next try waits. With `level` it was that
    level's text, and those below it were written. How many in a row that were; give them to `tell_given_up` once it is
    committed."""
    failures = store.note_failed(tx, record_id, problem, level, now)
    work_due.release(tx, KIND, record_id, held_until, now + rules.back_off(failures, problem))
    return failures


def tell_given_up(tenant_id: UUID, record_id: UUID, problem: str, failures: int) -> bool:
    """Whether it was tried often enough; people are told of it then, and with every further try."""
    if failures < rules.GIVEN_UP:
        return False
    log.warning("pulse_given_up", tenant_id=tenant_id, entity_id=record_id, problem=problem, failures=failures)
    log.count("PulseGivenUp")
    return True


def waiting(tx: Transaction, record_id: UUID, held_until: datetime, pulse_cap: Decimal, now: datetime) -> None:
    """There was no room in a budget for it: it is looked at again when there may be."""
    store.note_waiting(tx, [record_id], "budget")
    work_due.release(tx, KIND, record_id, held_until, budget.room_again(tx, pulse_cap, now))


def gone(tx: Transaction, record_id: UUID, held_until: datetime, now: datetime) -> None:
    """The record was found to be there no more, or to have no Pulses: nobody has to look, if that is still so."""
    if is_ours(tx, record_id, held_until) and store.settle(tx, [(record_id, None)]) == 0:
        work_due.release(tx, KIND, record_id, held_until, now)
