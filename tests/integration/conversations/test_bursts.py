"""Quick messages from a phone, on queues that delay and keep order as the deployed ones do: one or two turns in all."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from parlour.conversations.inbound_messages import SessionWakeup
from parlour.conversations.store import BURST_WINDOW
from parlour.conversations.turn_runner import run_session
from parlour.infra.queues import QueueMessage
from parlour.models.model import Completion, ModelRequest, StreamPart, TextDelta, TokenUsage, Waiting
from tests.conversation_harness import ConversationHarness, search_call

TEXTS = ("one", "two", "three", "four", "five")
_STOP_LOOK_SECONDS = 0.3


@dataclass
class OneGroupQueue:
    """A FIFO queue with a delay: the wakes of one session, one at a time."""

    phone: "QuickPhone"
    delay: timedelta
    wakes: list[tuple[datetime, SessionWakeup]] = field(default_factory=list)
    is_busy: bool = False

    def send(self, messages: Sequence[QueueMessage], /) -> None:
        """Keep the wakes until they are due."""
        now = self.phone.conversation.clock.now
        self.wakes += [(now + self.delay, SessionWakeup.parse(message.body)) for message in messages]

    def next_due(self) -> datetime | None:
        return None if self.is_busy or not self.wakes else self.wakes[0][0]

    def deliver(self) -> None:
        """Run a worker, beside those that are running."""
        _, wake = self.wakes.pop(0)
        self.is_busy = True
        with closing(self.phone.conversation.database.clone()) as own:
            run_session(self.phone.conversation.make_dependencies(own), wake, lambda: 60.0)
        self.is_busy = False


@dataclass
class QuickPhone:
    """Somebody who writes five messages, and the model that answers them, which takes `seconds` for each step."""

    conversation: ConversationHarness
    seconds: float
    calls_tool: bool = False
    provider: str = "anthropic"
    arrivals: list[tuple[datetime, str]] = field(default_factory=list)
    began: list[datetime] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.queues = {"whatsapp": OneGroupQueue(self, BURST_WINDOW), "web": OneGroupQueue(self, timedelta())}
        self.conversation.model = self  # type: ignore[assignment]
        self.conversation.turn_queues = self.queues  # type: ignore[assignment]

    def write_all(self, gap: float) -> None:
        """Write the texts, `gap` seconds between two, and let everything happen that follows."""
        start = self.conversation.clock.now
        self.arrivals = [(start + timedelta(seconds=gap * number), text) for number, text in enumerate(TEXTS)]
        self.pass_time(60)

    def pass_time(self, seconds: float) -> None:
        """Let messages arrive and wakes be delivered, in the order in which they are due."""
        clock = self.conversation.clock
        end = clock.now + timedelta(seconds=seconds)
        while True:
            due = [at for at in (self.arrivals[0][0] if self.arrivals else None, *self._due_wakes()) if at]
            if not due or min(due) > end:
                break
            clock.now = max(clock.now, min(due))
            if self.arrivals and self.arrivals[0][0] == min(due):
                self._receive(self.arrivals.pop(0)[1])
            else:
                next(queue for queue in self.queues.values() if queue.next_due() == min(due)).deliver()
        clock.now = max(clock.now, end)

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        """Answer at the end of the time; look in between whether somebody wants the turn to end."""
        del seconds_left
        self.began.append(self.conversation.clock.now)
        yield TextDelta("It ")
        self.pass_time(self.seconds)
        time.sleep(_STOP_LOOK_SECONDS)
        yield Waiting()
        if self.calls_tool and len(self.began) == 1:
            yield Completion(tuple(search_call("crack")), "tool_use", TokenUsage(10, 10))
            return
        yield Completion(({"type": "text", "text": "It holds."},), "end_turn", TokenUsage(10, 10))

    def turns(self) -> list[tuple[object, ...]]:
        """Each turn's state with the texts that it answers."""
        return self.conversation.query(
            "SELECT t.state, array_agg(m.body ORDER BY m.position) FROM turns t JOIN messages m ON m.turn_id = t.id"
            " WHERE m.direction = 'inbound' GROUP BY t.id, t.state, t.number ORDER BY t.number"
        )

    def _due_wakes(self) -> list[datetime | None]:
        return [queue.next_due() for queue in self.queues.values()]

    def _receive(self, text: str) -> None:
        turns_own = self.conversation.database
        self.conversation.database = turns_own.clone()
        self.conversation.send_whatsapp(text, text)
        self.conversation.database.close()
        self.conversation.database = turns_own


@pytest.mark.parametrize("seconds", [0.5, 4.0], ids=["short_turn", "long_turn"])
def test_five_quick_messages_are_answered_at_once_and_then_together(
    conversation: ConversationHarness, seconds: float
) -> None:
    phone = QuickPhone(conversation, seconds)
    start = conversation.clock.now
    phone.write_all(gap=0.3)
    assert phone.turns() == [("answered", ["one"]), ("answered", ["two", "three", "four", "five"])]
    assert phone.began[0] - start < timedelta(seconds=0.5)
    second = max(timedelta(seconds=0.3) + BURST_WINDOW, timedelta(seconds=seconds))
    assert phone.began[1] - start - second < timedelta(seconds=0.5)


def test_quick_messages_join_a_turn_that_is_steered(conversation: ConversationHarness) -> None:
    conversation.query("""UPDATE bindings SET queue = '{"mode": "steer"}' RETURNING id""")
    phone = QuickPhone(conversation, 3.0, calls_tool=True)
    phone.write_all(gap=0.3)
    assert phone.turns() == [("answered", [*TEXTS])]


def test_quick_messages_that_interrupt_are_gathered_for_the_next_turn(conversation: ConversationHarness) -> None:
    conversation.query("""UPDATE bindings SET queue = '{"mode": "interrupt"}' RETURNING id""")
    phone = QuickPhone(conversation, 0.4)
    phone.write_all(gap=0.3)
    assert phone.turns() == [("stopped", ["one"]), ("answered", ["two", "three", "four", "five"])]


def test_a_thread_is_quiet_again_when_nothing_was_written_for_a_while(conversation: ConversationHarness) -> None:
    phone = QuickPhone(conversation, 0.1)
    start = conversation.clock.now
    phone.write_all(gap=3.0)
    assert phone.turns() == [("answered", [text]) for text in TEXTS]
    waits = [began - start - timedelta(seconds=3 * number) for number, began in enumerate(phone.began)]
    assert max(waits) < timedelta(seconds=0.5)
