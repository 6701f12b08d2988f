"""Attacks on the workers: a message that takes long to read, and workers that hang."""

import time
from datetime import timedelta

from tests.conversation_harness import ConversationHarness, text_answer

_SECONDS = 0.5
_HUNG, _WAITING = "+919800000661", "+919800000662"


class Hung(BaseException):
    """Stands for a worker that neither renews its lease nor ends."""


def line_ends_hold_a_worker(desk: ConversationHarness) -> bool:
    """A message of line ends takes a worker's whole time."""
    return _seconds_for(desk, "a" + "\n" * 1_000 + "b") > _SECONDS


def long_message_is_read(desk: ConversationHarness) -> bool:
    """A long message with blank lines is answered at once."""
    return _seconds_for(desk, "The north side is clear.\n\n\n" * 250) <= _SECONDS


def _seconds_for(desk: ConversationHarness, text: str) -> float:
    """Return the processor time of the turn that answers a visitor's message."""
    visitor = desk.create_visitor()
    desk.send_web(visitor, desk.find_session(visitor), text)
    desk.model.script = [text_answer("Yes.")]
    begun = time.process_time()
    desk.run_turn()
    return time.process_time() - begun


def hung_workers_are_replaced(desk: ConversationHarness) -> bool:
    """A tenant whose only worker hangs gets another one as soon as the lease ends."""
    _hang(desk)
    return _is_answered(desk, after=timedelta(seconds=20))


def ended_worker_is_replaced(desk: ConversationHarness) -> bool:
    """The invocation of the hung worker is over: the next message is answered."""
    _hang(desk)
    return _is_answered(desk, after=timedelta(seconds=70))


def _hang(desk: ConversationHarness) -> None:
    def hang() -> None:
        raise Hung

    desk.max_tenant_turns = 1
    desk.send_whatsapp("First", "m1", sender=_HUNG)
    desk.model.before_completion, desk.model.script = hang, [text_answer("Never said.")]
    try:
        desk.run_turn()
    except Hung:
        desk.model.before_completion = lambda: None


def _is_answered(desk: ConversationHarness, after: timedelta) -> bool:
    desk.clock.now += after
    desk.send_whatsapp("Second", "m2", sender=_WAITING)
    desk.model.script = [text_answer("Now.")]
    desk.run_turn()
    return desk.query("SELECT count(*) FROM messages WHERE direction = 'outbound' AND body = 'Now.'") == [(1,)]
