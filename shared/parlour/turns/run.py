"""One turn, from the wake-up to the reply. Resumed after a crash it goes on from what is committed."""

import math
from collections.abc import Callable
from datetime import datetime, timedelta
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
)
from parlour.principal import Principal, system
from parlour.turns import polite, store
from parlour.turns.answer import Answer, answer
from parlour.turns.events import Feed
from parlour.turns.journal import CallModel, Reply, RunTools, next_step
from parlour.turns.load import Loaded, load
from parlour.turns.receive import Wake
from parlour.turns.records import Lease
from parlour.turns.step import Running, Services, ask_model, run_tools
from parlour.turns.timing import Stages

ATTEMPTS = 3
"""A turn begun more often than this has failed: its inputs are parked and the user hears a polite line."""


def run(services: Services, wake: Wake, seconds_left: Callable[[], float]) -> None:
    """Answer what is unanswered in the session, if anything is.

    The lease ends at the invocation's deadline, before the queue delivers the wake again. Raises RetryError
    (LeaseHeld when another worker is at it) or whatever unexpected broke the turn, so that the wake is delivered
    again; after three attempts the turn is failed instead.
    """
    principal = system(wake.tenant_id)
    running = _begin(services, principal, wake.session_id, seconds_left)
    if running is None:
        _send_what_waits(services, principal, wake.session_id)
        return
    _run_turn(running, principal)
    if running.turn.attempts > 1:
        # This wake may have been a later message's, used up by the turn that an earlier worker left open.
        run(services, wake, seconds_left)


def _run_turn(running: Running, principal: Principal) -> None:
    services = running.services
    try:
        answer(running, _work(running))
    except LeaseLost:
        log.warning("lease_lost", tenant_id=principal.tenant_id, turn_id=running.turn.id)
    except RetryError:
        _let_go(services, principal, running.lease)
        raise
    except Exception as problem:
        log.error("turn_broken", problem, turn_id=running.turn.id, attempt=running.turn.attempts)
        if running.turn.attempts < ATTEMPTS:
            _let_go(services, principal, running.lease)
            raise
        answer(running, _failed("broken"))


def _begin(
    services: Services, principal: Principal, session_id: UUID, seconds_left: Callable[[], float]
) -> Running | None:
    """Take the lease and open or resume the turn; committed before anything can go wrong, so attempts are counted."""
    now = services.clock()
    with services.database.transaction(principal) as tx:
        lease = store.take_lease(tx, session_id, now, now + timedelta(seconds=seconds_left()))
        if lease is None:
            if (held := store.held(tx, session_id)) is not None:
                raise LeaseHeld(after=_seconds_until(held.lease_until, now))
            log.warning("session_gone", tenant_id=principal.tenant_id, session_id=session_id)
            return None
        turn = store.begin_turn(tx, session_id, services.new_id(now), now)
        if turn is None:
            store.release_lease(tx, lease)
            return None
        inputs = tuple(store.inputs(tx, turn.id))
    feed = Feed(principal, services.database, lease, turn.id, services.clock)
    stages = Stages(services.clock)
    stages.note_between("wait", inputs[0].received_at, now)
    return Running(services, lease, turn, inputs, feed, stages, seconds_left)


def _work(running: Running) -> Answer:
    """The turn's answer: a polite line when the model is not to be asked or cannot be, else what it said."""
    if running.turn.attempts > ATTEMPTS:
        return _failed("too_many_attempts")
    try:
        with running.stages.timed("load"), running.services.database.transaction(running.feed.principal) as tx:
            loaded = load(tx, running.lease, running.turn, running.inputs)
        is_open = loaded.persona.tenant.status == "active" and loaded.persona.binding.is_active
        line = polite.instead(running.inputs, is_open=is_open)
        return _converse(running, loaded) if line is None else Answer(line)
    except (ProviderUnavailable, ProviderRejected, PromptOverflow, Misconfigured) as problem:
        log.error("turn_degraded", problem, turn_id=running.turn.id, code=problem.code)
        log.count("DegradedTurn")
        too_long = isinstance(problem, PromptOverflow) and problem.layer == "message"
        return Answer(polite.TOO_LONG if too_long else polite.SLOW, degraded=True, problem=problem.code)


def _converse(running: Running, loaded: Loaded) -> Answer:
    running.feed.add("session", {"turn_id": str(running.turn.id), "number": running.turn.number})
    journal = loaded.journal
    while True:
        match next_step(journal):
            case CallModel() as step:
                journal = ask_model(running, loaded, journal, step)
            case RunTools() as step:
                journal = run_tools(running, loaded, journal, step)
            case Reply(text=None):
                return Answer(polite.TROUBLE, degraded=True, problem="no_answer")
            case Reply(text=text):
                return Answer(text or polite.TROUBLE)


def _failed(problem: str) -> Answer:
    log.count("FailedTurn")
    return Answer(polite.FAILED, state="failed", degraded=True, problem=problem)


def _seconds_until(end: datetime | None, now: datetime) -> int:
    """How long the session is held at most; a second when its holder has just let go."""
    return max(1, math.ceil((end - now).total_seconds())) if end else 1


def _let_go(services: Services, principal: Principal, lease: Lease) -> None:
    """Free the session for the next delivery; if even that fails, the lease ends by itself."""
    try:
        with services.database.transaction(principal) as tx:
            store.release_lease(tx, lease)
    except RetryError as problem:
        log.warning("lease_left", tenant_id=principal.tenant_id, session_id=lease.id, code=problem.code)


def _send_what_waits(services: Services, principal: Principal, session_id: UUID) -> None:
    """A reply whose sender was never woken, because the worker died after its commit, is sent on now."""
    with services.database.transaction(principal) as tx:
        waiting = outbox.unsent(tx, session_id=session_id)
    for row in waiting:
        outbox.wake(services.outbox, principal.tenant_id, session_id, row.id, row.attempts)
