"""One turn, from the wake-up to the reply. Resumed after a crash it goes on from what is committed."""

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from parlour.channels import outbox
from parlour.infra import log
from parlour.infra.errors import (
    LeaseHeld,
    LeaseLost,
    Misconfigured,
    PromptOverflow,
    ProviderRejected,
    ProviderUnavailable,
    RetryError,
    SpendRefused,
    StatementTooSlow,
)
from parlour.infra.postgres import Transaction
from parlour.principal import Principal, system
from parlour.tools.calls import dispatch_message
from parlour.turns import polite, store
from parlour.turns.act import run_tools
from parlour.turns.answer import Answer, commit_answer
from parlour.turns.events import Feed
from parlour.turns.journal import CallModel, Reply, RunTools, next_step
from parlour.turns.load import Loaded, load
from parlour.turns.recalling import add_recalled
from parlour.turns.receive import Wake
from parlour.turns.records import Inbound, Lease, OpenTurn, TurnEnd
from parlour.turns.running import Running, Services
from parlour.turns.step import ask_model
from parlour.turns.timing import Stages

ATTEMPTS = 3
"""A turn begun more often than this has failed: its inputs are parked and the user hears a polite line."""


def run(services: Services, wake: Wake, seconds_left: Callable[[], float]) -> None:
    """Answer what is unanswered in the session, if anything is.

    The lease ends at the invocation's deadline, before the queue delivers the wake again. Raises RetryError
    (LeaseHeld when another worker is at it) or whatever unexpected broke the turn, so that the wake is delivered
    again; after three attempts the turn is failed instead. An attempt that a RetryError ended (the database was
    away, or the time was over, say) is not the turn's fault and is not counted; one that a statement ended which
    takes too long is.
    """
    principal = system(wake.tenant_id)
    running = _begin(services, principal, wake.session_id, seconds_left)
    if running is None:
        _send_what_waits(services, principal, wake.session_id)
        return
    _run_turn(running, principal)
    if not running.turn.is_new:
        # This wake may have been a later message's, used up by the turn that an earlier worker left open.
        run(services, wake, seconds_left)


def _run_turn(running: Running, principal: Principal) -> None:
    try:
        commit_answer(running, _work(running))
    except LeaseLost:
        log.warning("lease_lost", tenant_id=principal.tenant_id, turn_id=running.turn.id)
    except RetryError as problem:
        _let_go(running, count=isinstance(problem, StatementTooSlow))
        raise
    except Exception as problem:
        log.error("turn_broken", problem, turn_id=running.turn.id, attempt=running.turn.attempts)
        if running.turn.attempts < ATTEMPTS or not _gave_up(running):
            _let_go(running, count=True)
            raise


def _gave_up(running: Running) -> bool:
    """Say that it failed; False when it was answered by then, and only what comes after that broke."""
    try:
        commit_answer(running, _failed("broken"))
    except LeaseLost:
        return False
    return True


def _begin(
    services: Services, principal: Principal, session_id: UUID, seconds_left: Callable[[], float]
) -> Running | None:
    """Take the lease and open or resume the turn; committed before anything can go wrong, so attempts are counted."""
    now = services.clock()
    until, holder, turn_id = now + timedelta(seconds=seconds_left()), services.new_id(now), services.new_id(now)

    def begin(tx: Transaction) -> tuple[Lease, OpenTurn, tuple[Inbound, ...]] | None:
        lease = store.take_lease(tx, session_id, holder, now, until)
        if lease is None:
            if (held := store.held(tx, session_id)) is not None:
                raise LeaseHeld(after=_seconds_until(held.lease_until, now))
            log.warning("session_gone", tenant_id=principal.tenant_id, session_id=session_id)
            return None
        turn = store.begin_turn(tx, lease, turn_id, now)
        if turn is None:
            store.release_lease(tx, lease)
            return None
        if inputs := store.inputs(tx, turn.id):
            return lease, turn, tuple(inputs)
        _close_empty(tx, lease, turn, now)
        return begin(tx)  # what was written since is a turn of its own

    begun = services.database.run(principal, begin)
    if begun is None:
        return None
    lease, turn, inputs = begun
    stages = Stages(services.clock)
    stages.note_between("wait", inputs[0].received_at, now)
    is_followed = "web" in {lease.channel, *(one.channel for one in inputs)}  # a phone's session, joined, is on both
    feed = Feed(principal, services.database, lease, turn.id, services.clock, is_followed)
    return Running(services, lease, turn, inputs, feed, stages, seconds_left)


def _close_empty(tx: Transaction, lease: Lease, turn: OpenTurn, now: datetime) -> None:
    """A turn whose messages are gone has nothing to say; left open, it would stand before all that comes after it."""
    log.warning("turn_without_messages", turn_id=turn.id, session_id=lease.id)
    store.finish_turn(tx, lease, turn.id, TurnEnd("answered", now, problem="no_messages"), {})


def _work(running: Running) -> Answer:
    """The turn's answer: a polite line when the model is not to be asked or cannot be, else what it said."""
    if running.turn.attempts > ATTEMPTS:
        return _failed("too_many_attempts")
    try:
        loaded = _load(running)
        is_open = loaded.persona.tenant.status == "active" and loaded.persona.binding.is_active
        line = polite.instead(running.inputs, is_open=is_open)
        if line is not None:
            return Answer(line)
        running.feed.add("session", {"turn_id": str(running.turn.id), "number": running.turn.number})
        add_recalled(running, loaded)
        return _converse(running, loaded)
    except PromptOverflow as problem:
        return _overflowed(running, problem)
    except (ProviderUnavailable, ProviderRejected, Misconfigured, SpendRefused) as problem:
        log.error("turn_degraded", problem, turn_id=running.turn.id, code=problem.code)
        log.count("DegradedTurn")
        line = polite.OVER_CAP if isinstance(problem, SpendRefused) else polite.SLOW
        return Answer(line, degraded=True, problem=problem.code)


def _overflowed(running: Running, problem: PromptOverflow) -> Answer:
    """A line that says what is too large, where that is the user's to shorten; the operator is told which layer it is
    and by how much."""
    code = f"{problem.code}_{problem.layer}"
    log.error(
        "turn_degraded", problem, turn_id=running.turn.id, code=code, tokens=problem.tokens, left=problem.budget
    )  # fmt: skip
    log.count("DegradedTurn")
    wrote = running.prompting is not None and running.prompting.wrote
    size = f"takes {problem.tokens:,} tokens, {max(0, problem.budget):,} are left"
    return Answer(polite.overflowed(problem.layer, wrote=wrote), degraded=True, problem=code, detail=size)


def _load(running: Running) -> Loaded:
    """The turn's material; a heavy call that was reserved and perhaps never sent to its queue is sent again."""
    services, now = running.services, running.services.clock()
    transact = partial(services.database.run, running.feed.principal)

    def read(tx: Transaction) -> Loaded:
        return load(
            tx, running.lease, running.turn, running.inputs, services.links, services.models, now, later=transact
        )  # fmt: skip

    with running.stages.timed("load"):
        loaded: Loaded = transact(read)
    running.open_calls.update(loaded.open_calls)
    running.prompting, running.tools = loaded.prompting, loaded.tools
    tenant_id = running.feed.principal.tenant_id
    waiting = [dispatch_message(tenant_id, call_id, running.turn.attempts) for call_id in loaded.undispatched]
    if waiting:
        services.tools.send(waiting)
    return loaded


def _converse(running: Running, loaded: Loaded) -> Answer:
    journal = loaded.journal
    while True:
        match next_step(journal):
            case CallModel() as step:
                running.require_time()
                journal = ask_model(running, loaded, journal, step)
            case RunTools() as step:
                journal = run_tools(running, loaded, journal, step)
                loaded.prompting.heard(loaded.rounds(journal))
            case Reply(text=None):
                return Answer(polite.TROUBLE, degraded=True, problem="no_answer")
            case Reply(text=text):
                return Answer(text or polite.TROUBLE, reader=loaded.principal)


def _failed(problem: str) -> Answer:
    log.count("FailedTurn")
    return Answer(polite.FAILED, state="failed", degraded=True, problem=problem)


def _seconds_until(end: datetime | None, now: datetime) -> int:
    """How long the session is held at most; a second when its holder has just let go."""
    return max(1, math.ceil((end - now).total_seconds())) if end else 1


def _let_go(running: Running, *, count: bool) -> None:
    """Free the session for the next delivery; if even that fails, the lease ends by itself."""
    lease, principal = running.lease, running.feed.principal

    def let_go(tx: Transaction) -> None:
        store.release_lease(tx, lease)
        if not count:
            store.refund_attempt(tx, lease, running.turn.id)

    try:
        running.services.database.run(principal, let_go)
    except RetryError as problem:
        log.warning("lease_left", tenant_id=principal.tenant_id, session_id=lease.id, code=problem.code)


def _send_what_waits(services: Services, principal: Principal, session_id: UUID) -> None:
    """A reply whose sender was never woken, because the worker died after its commit, is sent on now."""
    waiting = services.database.run(principal, lambda tx: outbox.unsent(tx, session_id=session_id))
    for row in waiting:
        outbox.wake(services.outbox, principal.tenant_id, session_id, row.id, row.attempts)
