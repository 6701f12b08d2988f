"""The further rows of the suite: what is tried, and how a row is made of what came of it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from local.chaos.conversations import Conversation, Conversations
from local.chaos.kills import play
from local.chaos.promises import judge, judge_all, outside
from local.chaos.pump import Pump
from local.chaos.report import Row
from local.chaos.scenarios import Scenario
from local.chaos.world import Desk, World

PLAIN = Scenario("plain", "plain", ())

_LONGEST_SECONDS = 300.0

type Trial = Callable[[World], list[Row]]
"""Runs on a world whose queues are empty, and leaves them so."""


def crowd(world: World, desk: Desk, size: int) -> tuple[Conversations, list[Conversation]]:
    """So many conversations that have not begun."""
    conversations = Conversations(world, desk)
    return conversations, [conversations.open(PLAIN) for _ in range(size)]


def settle(conversations: Conversations) -> None:
    """Deliver what is still on its way; then the sweep has its turn."""
    play(conversations, [])


def broken(world: World, desk: Desk, conversations: Sequence[Conversation]) -> tuple[str, ...]:
    """Every promise that one of them breaks, and those that concern them all."""
    seen = outside(world, desk)
    found = [
        f"{conversation.number}: {problem}"
        for conversation in conversations
        for problem in judge(world, seen, conversation).broken
    ]
    return (*found, *judge_all(world, desk))


@contextmanager
def meanwhile(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Have `work` done in a thread for as long as the block lasts; it looks at the event to know when that ends."""
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,), daemon=True)
    thread.start()
    try:
        yield
    except BaseException:  # somebody wants it to stop: `work` is not waited for, it goes with the process
        over.set()
        raise
    over.set()
    thread.join()


def waits(world: World, conversations: Sequence[Conversation], begun: dict[str, float]) -> list[float]:
    """Seconds from each one's webhook to its reply row, by the database's clock; who has none waits for ever."""
    query = """
        SELECT extract(epoch FROM min(m.sent_at)) FROM messages m JOIN sessions s ON s.id = m.session_id
          JOIN users u ON u.id = s.user_id WHERE u.phone = %s AND m.direction = 'outbound'
    """
    answered = {one.number: world.value(query, one.number) for one in conversations}
    return [float(answered[number] or "inf") - begun[number] for number in (one.number for one in conversations)]


def pumping(world: World) -> Callable[[threading.Event], None]:
    """Deliveries in the background: for `meanwhile`."""

    def work(over: threading.Event) -> None:
        Pump(world).run(_LONGEST_SECONDS, go_on=lambda: not over.is_set())

    return work
