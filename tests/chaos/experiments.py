"""The further rows of the suite: what is tried, and how a row is made of what came of it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tests.chaos.chaos_environment import ChaosEnvironment, ChaosTenant
from tests.chaos.conversations import Conversation, Conversations
from tests.chaos.guarantees import check_conversation, check_tenant, read_external_state
from tests.chaos.kill_suite import run_until_idle
from tests.chaos.queue_poller import QueuePoller
from tests.chaos.report import ResultRow
from tests.chaos.scenarios import Scenario

PLAIN_SCENARIO = Scenario("plain", "plain", ())

_MAX_SECONDS = 300.0

type Experiment = Callable[[ChaosEnvironment], list[ResultRow]]
"""Runs on a world whose queues are empty, and leaves them so."""


def add_conversations(
    world: ChaosEnvironment, desk: ChaosTenant, size: int
) -> tuple[Conversations, list[Conversation]]:
    """So many conversations that have not begun."""
    conversations = Conversations(world, desk)
    return conversations, [conversations.add(PLAIN_SCENARIO) for _ in range(size)]


def deliver_all(conversations: Conversations) -> None:
    """Deliver what is still on its way; then the sweep has its turn."""
    run_until_idle(conversations, [])


def list_broken_guarantees(
    world: ChaosEnvironment, desk: ChaosTenant, conversations: Sequence[Conversation]
) -> tuple[str, ...]:
    """Every promise that one of them breaks, and those that concern them all."""
    seen = read_external_state(world, desk)
    found = [
        f"{conversation.phone_number}: {problem}"
        for conversation in conversations
        for problem in check_conversation(world, seen, conversation).broken_guarantees
    ]
    return (*found, *check_tenant(world, desk))


@contextmanager
def run_in_background(work: Callable[[threading.Event], None]) -> Iterator[None]:
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


def reply_seconds(
    world: ChaosEnvironment, conversations: Sequence[Conversation], begun: dict[str, float]
) -> list[float]:
    """Seconds from each one's webhook to its reply row, by the database's clock; who has none waits for ever."""
    query = """
        SELECT extract(epoch FROM min(m.sent_at)) FROM messages m JOIN sessions s ON s.id = m.session_id
          JOIN users u ON u.id = s.user_id WHERE u.phone = %s AND m.direction = 'outbound'
    """
    answered = {one.phone_number: world.value(query, one.phone_number) for one in conversations}
    return [float(answered[number] or "inf") - begun[number] for number in (one.phone_number for one in conversations)]


def poll_in_background(world: ChaosEnvironment) -> Callable[[threading.Event], None]:
    """Deliveries in the background: for `meanwhile`."""

    def work(over: threading.Event) -> None:
        QueuePoller(world).run(_MAX_SECONDS, keep_running=lambda: not over.is_set())

    return work
