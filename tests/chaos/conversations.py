"""The conversations of the fault suite: each from a phone of its own, each with its death, and what was seen of it."""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from local.workers import InvocationResult
from tests.chaos.chaos_environment import ChaosEnvironment, ChaosTenant, webhook_event
from tests.chaos.queue_poller import WORKER_SLOTS, Delivery
from tests.chaos.scenarios import BEFORE_REPLY, Boundary, Invocation, Scenario
from tests.chaos.tripwire import KillPoint, RecordedInvocation, Tripwire

PERSONAL_STATEMENT = "My name is Robin. We pour with the Heron crew."
"""What everybody says of themselves: the name is noted with the reply, the crew by whoever reads the talk later."""

_COMPLETED_STEPS = """
SELECT count(*) FROM steps p JOIN turns t ON t.id = p.turn_id JOIN sessions s ON s.id = t.session_id
  JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND p.completed_at IS NOT NULL
"""


@dataclass(slots=True)
class Conversation:
    """One phone's conversation. `boundary` is None where nobody is killed.

    kill_points          where its workers die; taken out as they happen.
    deaths_before_reply  how many workers still die just before they reply. An invocation that finds the session in
                         other hands, or nothing to do, comes to no reply and dies no such death.
    invocations          how often each function was invoked in this phase.
    uncommitted_answers  at the moment of death: model answers that were given and not committed.
    redeliveries         deliveries after a message's first.
    timed_out_workers    workers that ran out of time and were killed for it.
    """

    scenario: Scenario
    tag: str
    phone_number: str
    boundary: Boundary | None = None
    kill_points: dict[Invocation, KillPoint] = field(default_factory=dict)
    deaths_before_reply: int = 0
    invocations: Counter[str] = field(default_factory=Counter)
    recorded_calls: dict[Invocation, tuple[str, ...]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    phase: int = 0
    uncommitted_answers: int = 0
    redeliveries: int = 0
    timed_out_workers: int = 0
    died_at: float | None = None
    ended_at: float = 0.0
    is_swept: bool = False

    @property
    def recovery_seconds(self) -> float:
        """From the death to the last thing that happened."""
        return self.ended_at - self.died_at if self.died_at is not None else 0.0

    def begin_phase(self, phase: int) -> None:
        """Count invocations from the start again."""
        self.phase = phase
        self.invocations.clear()


class Conversations:
    """All of them at once: tells the pump who dies where, and keeps what it sees. Used by several threads.

    recorded   have the port calls of every invocation written down; each runs in a cold worker then.
    """

    def __init__(self, world: ChaosEnvironment, desk: ChaosTenant, *, records_calls: bool = False) -> None:
        self.world = world
        self.desk = desk
        self._records_calls = records_calls
        self.conversations: list[Conversation] = []
        self._by_number: dict[str, Conversation] = {}
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()

    def add(self, scenario: Scenario, boundary: Boundary | None = None) -> Conversation:
        """A conversation that has not begun."""
        number = self.world.new_phone_number()
        conversation = Conversation(scenario, f"r{number.removeprefix('+')}", number, boundary)
        if boundary:
            conversation.kill_points[boundary.invocation] = boundary.point
        self.conversations.append(conversation)
        self._by_number[number] = conversation
        return conversation

    def write_all(self, conversations: list[Conversation]) -> None:
        """Everybody writes. A provider whose webhook was not answered delivers it again."""
        with ThreadPoolExecutor(WORKER_SLOTS) as writing:
            list(writing.map(self.send_message, conversations))

    def wrap_delivery(self, delivery: Delivery) -> Tripwire | None:
        """What becomes of this invocation: one that is to be recorded is, and one whose end has come dies."""
        conversation = self._find_conversation(delivery)
        return self._make_tripwire(conversation, self._label(delivery)) if conversation else None

    def record_result(self, delivery: Delivery, ended: InvocationResult, begun: float) -> None:
        """Note what became of an invocation."""
        conversation = self._find_conversation(delivery)
        if conversation:
            conversation.redeliveries += delivery.receive_count > 1
            self._record_end(conversation, self._label(delivery), ended, begun)

    def invoke(self, conversation: Conversation, function: str, event: Any, seconds: float) -> InvocationResult:
        """What somebody outside asks for directly and, when it died, asks for again."""
        while True:
            wrap = self._make_tripwire(conversation, function)
            begun = time.monotonic()
            ended = self.world.workers.invoke(function, event, seconds, wrap)
            self._record_end(conversation, function, ended, begun)
            if ended.outcome == "answered":
                return ended
            conversation.redeliveries += 1
            if conversation.redeliveries > 10:
                conversation.problems.append(f"{function} never answered: {ended.answer}")
                return ended

    def send_message(self, conversation: Conversation, message: str = "m", text: str = "", button_id: str = "") -> None:
        """One webhook, until it is answered: a text, or the button of that id that has the text for its title."""
        script = conversation.scenario.script
        said = text or f"{PERSONAL_STATEMENT} chaos {script} {conversation.tag}. How wide is the crack at C4?"
        payload = self.world.webhook_payload(
            self.desk, conversation.phone_number, said, f"{message}-{conversation.tag}", button_id
        )
        ended = self.invoke(conversation, "inbound", webhook_event(payload), 10)
        answer = unwrap_answer(ended)
        if not isinstance(answer, Mapping) or answer.get("statusCode") != 200:
            conversation.problems.append(f"the webhook was answered with {answer}")

    def count_uncommitted(self, conversation: Conversation) -> None:
        """Its worker is gone: count what the model was asked for and no step has."""
        done = int(self.world.value(_COMPLETED_STEPS, conversation.phone_number) or 0)
        conversation.uncommitted_answers = self.world.model.count_requests(conversation.tag) - done

    def _make_tripwire(self, conversation: Conversation, function: str) -> Tripwire | None:
        with self._lock:
            conversation.invocations[function] += 1
            invocation = Invocation(function, conversation.invocations[function], conversation.phase)
            point = conversation.kill_points.pop(invocation, None)
            if function == "orchestrator" and conversation.deaths_before_reply:
                point = BEFORE_REPLY
        if point is None and not self._records_calls:
            return None
        return Tripwire(self.world.server_names, point)

    def _record_end(self, conversation: Conversation, function: str, ended: InvocationResult, begun: float) -> None:
        conversation.ended_at = max(conversation.ended_at, begun + ended.seconds)
        if function == "orchestrator" and ended.outcome != "answered" and conversation.deaths_before_reply:
            conversation.deaths_before_reply -= 1
        if ended.outcome == "killed":
            conversation.died_at = begun + ended.seconds
            self.count_uncommitted(conversation)
        elif ended.outcome == "timed_out":
            conversation.timed_out_workers += 1  # on a busy machine: one death more, which has to be survived as well
            self.count_uncommitted(conversation)
        elif isinstance(ended.answer, RecordedInvocation):
            invocation = Invocation(function, conversation.invocations[function], conversation.phase)
            conversation.recorded_calls[invocation] = ended.answer.calls

    def _label(self, delivery: Delivery) -> str:
        """Return the function, with the medium of a notification: the two of an event come in no order."""
        notification_id = delivery.body.get("notification_id")
        if notification_id is None:
            return delivery.function
        key = f"medium of {notification_id}"
        if key not in self._known:
            self._known[key] = str(self.world.value("SELECT medium FROM notifications WHERE id = %s", notification_id))
        return f"{delivery.function} of {self._known[key]}"

    def _find_conversation(self, delivery: Delivery) -> Conversation | None:
        number = find_phone_number(self.world, delivery.body, self._known)
        return self._by_number.get(number or "")


def unwrap_answer(ended: InvocationResult) -> Any:
    """Return what the handler answered, also where its calls were recorded."""
    return getattr(ended.answer, "answer", ended.answer)


_PHONE_QUERIES = {
    "session_id": "SELECT u.phone FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = %s",
    "notification_id": """SELECT u.phone FROM notifications n JOIN sessions s ON s.id = n.session_id
                            JOIN users u ON u.id = s.user_id WHERE n.id = %s""",
    "outbox_id": "SELECT recipient FROM outbox WHERE id = %s",
    "tool_call_id": """SELECT u.phone FROM tool_calls c JOIN turns t ON t.id = c.turn_id
                         JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id WHERE c.id = %s""",
}


def find_phone_number(world: ChaosEnvironment, body: Mapping[str, Any], known: dict[str, str]) -> str | None:
    """The phone that a queue's message is about; None when it is about nobody. Remembers in `known`."""
    if "sender" in body:
        return str(body["sender"])
    for name, query in _PHONE_QUERIES.items():
        if name in body:
            key = str(body[name])
            if key not in known and (number := world.value(query, key)):
                known[key] = str(number)
            return known.get(key)
    return None
