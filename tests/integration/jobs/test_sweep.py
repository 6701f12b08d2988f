"""What was to be woken and was not: found by the redelivered message, by the duplicate, and by the sweep."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Barrier, Thread
from uuid import UUID, uuid4

import pytest

from parlour.channels import outbox
from parlour.conversations.inbound_messages import SessionWakeup
from parlour.infra.errors import MalformedPayload, QueueUnavailable
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.infra.queues import QueueMessage
from parlour.jobs import sweep as sweeping
from parlour.jobs import work_due
from parlour.jobs.checked_queue import CheckedQueue
from parlour.jobs.sweep import Finder, SweepDependencies, SweepResult, handle_wakeup, sweep
from parlour.jobs.work_due import CHECK_DELAY, SWEEP_DELAY, DueWork, WorkKind
from parlour.prompts.ledger import retention
from parlour.tenancy import visitor_retention
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, FakeDelayedQueue, FakeQueue, text_answer
from tests.integration.sweeping import dependencies

SECOND, MINUTE, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)


@dataclass
class DelayedMessages:
    """Keeps what is to come later, and when."""

    sent: list[tuple[JsonObject, float]] = field(default_factory=list)

    def send(self, body: JsonObject, seconds: float, /) -> None:
        self.sent.append((body, seconds))


@dataclass
class SweepHarness:
    """A desk with its sweep. finders: in the place of those that rooms offer."""

    desk: ConversationHarness
    wakeups: DelayedMessages = field(default_factory=DelayedMessages)
    web_queue: FakeQueue = field(default_factory=FakeQueue)
    finders: Mapping[WorkKind, Finder] = field(default_factory=dict)

    def make_dependencies(self, database: Database | None = None) -> SweepDependencies:
        found = dependencies(self.desk, self.wakeups, self.web_queue, database)
        return replace(found, finders={**found.finders, **self.finders})

    def sweep(self, after: timedelta = SWEEP_DELAY + MINUTE) -> SweepResult:
        """What was said is embedded by then, and looked through."""
        self.desk.query("DELETE FROM work_due WHERE kind IN ('embedding', 'extraction') RETURNING id")
        self.desk.clock.now += after
        return sweep(self.make_dependencies(), lambda: 60.0)

    def wake_up(self, kind: WorkKind, work_id: UUID, due_at: datetime) -> None:
        handle_wakeup(self.make_dependencies(), DueWork(self.desk.tenant_id, kind, work_id, due_at).to_json())

    def check(self, queue: FakeQueue) -> tuple[QueueMessage, list[QueueMessage]]:
        """Send the queue's last message with its check, run that when it is due, and return what it sent besides."""
        *_, first = queue.sent.values()
        CheckedQueue(FakeQueue(), self.wakeups, self.desk.clock).send([first])
        ((body, seconds),) = self.wakeups.sent
        self.desk.clock.now += timedelta(seconds=seconds)
        queue.sent.clear()
        handle_wakeup(self.make_dependencies(), body)
        return first, list(queue.sent.values())

    def due_times(self) -> dict[str, datetime]:
        """What is due some time besides the embedding, what is to be remembered, what is kept of prompts and of
        streamed text, and what is to be put away, by kind; one of each at most."""
        later = self.desk.clock() + timedelta(days=99)
        every = self.desk.database.run(None, lambda tx: work_due.list_overdue(tx, later, 99))
        others = {"archive", "embedding", "extraction", "prompt_retention", "event_retention", "visitor_retention"}
        found = [one for one in every if one.kind not in others]
        assert len({one.kind for one in found}) == len(found)
        return {one.kind: one.due_at for one in found}

    def session(self) -> UUID:
        return self.desk.list_wakes()[-1].session_id

    def answer(self, text: str = "On Monday.") -> None:
        self.desk.model.script = [text_answer(text)]
        self.desk.run_turn()


@pytest.fixture
def sweep_harness(conversation: ConversationHarness) -> SweepHarness:
    return SweepHarness(conversation)


def script_long_call(desk: ConversationHarness) -> None:
    """Have the next turn ask for a heavy call."""

    def render(context: ToolContext, arguments: JsonObject) -> JsonObject:
        raise AssertionError

    desk.add_tool("render", render, heavy=True)
    desk.send_whatsapp("Render the model, please")
    desk.model.script = [[{"type": "tool_use", "id": "call_1", "name": "render", "input": {}}]]


class TestSessions:
    """A message whose wake-up got lost."""

    def test_the_redelivered_envelope_wakes_again(self, sweep_harness: SweepHarness) -> None:
        sweep_harness.desk.turns.error = QueueUnavailable()
        with pytest.raises(QueueUnavailable):
            sweep_harness.desk.send_whatsapp("How wide is the crack?")
        sweep_harness.desk.turns.error = None
        assert sweep_harness.desk.send_whatsapp("How wide is the crack?") == "duplicate"
        sweep_harness.answer()
        assert sweep_harness.desk.query("SELECT count(*) FROM outbox") == [(1,)]

    def test_the_sweep_wakes_what_is_unanswered_and_later_each_time(self, sweep_harness: SweepHarness) -> None:
        sweep_harness.desk.turns.error = QueueUnavailable()
        with pytest.raises(QueueUnavailable):
            sweep_harness.desk.send_whatsapp("How wide is the crack?")
        sweep_harness.desk.turns.error = None
        assert sweep_harness.sweep(CHECK_DELAY / 2) == SweepResult(0, 0, 0, has_more=False)
        waits = []
        for _ in range(4):
            sweep_harness.desk.clock.now = max(sweep_harness.desk.clock.now, sweep_harness.due_times()["session"])
            assert sweep_harness.sweep(timedelta()) == SweepResult(1, 0, 0, has_more=False)
            wait = sweep_harness.due_times()["session"] - sweep_harness.desk.clock.now
            waits.append(round(wait.total_seconds()))
        assert waits == [6, 12, 24, 48]
        groups = {message.group_id for message in sweep_harness.desk.turns.sent.values()}
        assert len(groups) == 4  # a dead worker's message holds at most one of them
        sweep_harness.answer()
        assert sweep_harness.due_times().keys() == {"outbox"}

    def test_on_the_web_the_webs_queue_is_woken(self, sweep_harness: SweepHarness) -> None:
        visitor = sweep_harness.desk.create_visitor()
        session = sweep_harness.desk.find_session(visitor)
        sweep_harness.desk.send_web(visitor, session, "How wide is the crack?")
        sweep_harness.desk.turns.sent.clear()
        assert sweep_harness.sweep().woken_count == 1
        ((woken,), others) = (list(sweep_harness.web_queue.sent.values()), sweep_harness.desk.turns.sent)
        assert (SessionWakeup.parse(woken.body).session_id, others) == (session, {})

    def test_a_turn_whose_worker_died_is_woken_when_its_lease_is_over(self, sweep_harness: SweepHarness) -> None:
        sweep_harness.desk.send_whatsapp("How wide is the crack?")
        sweep_harness.desk.model.script = [RuntimeError()]
        with pytest.raises(RuntimeError):
            sweep_harness.desk.run_turn()
        until = sweep_harness.desk.clock.now + SWEEP_DELAY + 3 * MINUTE
        sweep_harness.desk.query(f"UPDATE sessions SET lease_until = '{until.isoformat()}' RETURNING 1")
        sweep_harness.desk.turns.sent.clear()
        assert sweep_harness.sweep() == SweepResult(0, 0, 1, has_more=False)
        assert sweep_harness.due_times()["session"] == until + MINUTE
        assert sweep_harness.desk.query("SELECT has_pending_wake FROM sessions") == [(True,)]
        assert sweep_harness.sweep().woken_count == 1
        sweep_harness.answer()
        assert sweep_harness.desk.query("SELECT attempt_count FROM turns") == [(2,)]

    def test_a_session_that_was_answered_or_is_gone_is_settled(self, sweep_harness: SweepHarness) -> None:
        sweep_harness.desk.send_whatsapp("How wide is the crack?")
        sweep_harness.answer()
        sweep_harness.desk.query("UPDATE outbox SET state = 'sent' RETURNING 1")
        with sweep_harness.desk.database.transaction(sweep_harness.desk.tenant_id) as tx:
            work_due.schedule(tx, "session", sweep_harness.session(), sweep_harness.desk.clock())
            for kind in ("session", "tool_call"):
                work_due.schedule(tx, kind, uuid4(), sweep_harness.desk.clock())
        sweep_harness.desk.turns.sent.clear()
        assert sweep_harness.sweep() == SweepResult(0, 4, 0, has_more=False)
        assert (sweep_harness.due_times(), sweep_harness.desk.turns.sent) == ({}, {})

    def test_a_message_that_comes_in_while_its_session_is_looked_at_is_not_forgotten(
        self, sweep_harness: SweepHarness, open_database: Callable[[], Database]
    ) -> None:
        """Stored and not committed yet when the sweep looks: the sweep waits, and sees it."""
        desk = sweep_harness.desk
        desk.send_whatsapp("How wide is the crack?")
        sweep_harness.answer()
        session = sweep_harness.session()
        desk.database.run(desk.tenant_id, lambda tx: work_due.schedule(tx, "session", session, desk.clock()))
        desk.clock.now += SECOND
        outcomes: list[SweepResult] = []
        net = sweep_harness.make_dependencies(open_database())
        with desk.database.transaction(desk.tenant_id) as tx:
            tx._connection.execute("UPDATE sessions SET last_active_at = now() WHERE id = %s", (session,))
            looking = Thread(target=lambda: outcomes.append(sweep(net, lambda: 60.0)))
            looking.start()
            looking.join(0.5)
            assert looking.is_alive()
            tx._connection.execute(
                "UPDATE messages SET state = 'unanswered', turn_id = NULL WHERE direction = 'inbound'"
            )
        looking.join(10)
        assert outcomes == [SweepResult(1, 0, 0, has_more=False)]


class TestChecks:
    """A worker that died before its first renewal: its message, and with it the FIFO group, stays invisible."""

    @staticmethod
    def send_reply(desk: ConversationHarness, message_id: str = "wamid-1") -> None:
        desk.send_whatsapp("How wide is the crack?", message_id)
        desk.model.script = [text_answer("2 mm.")]
        desk.run_turn()

    @pytest.mark.parametrize("kind", ["session", "outbox", "tool_call"])
    def test_it_sends_the_work_again_in_a_group_of_its_own(self, sweep_harness: SweepHarness, kind: str) -> None:
        desk = sweep_harness.desk
        queue = {"session": desk.turns, "outbox": desk.outbox, "tool_call": desk.tools}[kind]
        if kind == "session":
            desk.send_whatsapp("How wide is the crack?")
        elif kind == "outbox":
            self.send_reply(desk)
        else:
            script_long_call(desk)
            desk.model.script.append(text_answer("Working on it."))
            desk.run_turn()
        first, (again,) = sweep_harness.check(queue)
        assert again.body == first.body
        assert again.group_id != first.group_id
        assert again.deduplication_id != first.deduplication_id
        assert [round(seconds) for _, seconds in sweep_harness.wakeups.sent] == [6, 6]

    def test_it_leaves_a_reply_to_a_sender_that_lives(self, sweep_harness: SweepHarness) -> None:
        desk = sweep_harness.desk
        self.send_reply(desk)
        desk.query(f"UPDATE work_due SET leased_until = '{desk.clock() + MINUTE}' WHERE kind = 'outbox' RETURNING 1")
        _, again = sweep_harness.check(desk.outbox)
        assert again == []

    def test_it_keeps_a_session_s_replies_in_order(self, sweep_harness: SweepHarness) -> None:
        self.send_reply(sweep_harness.desk)
        self.send_reply(sweep_harness.desk, "wamid-2")
        later, (again,) = sweep_harness.check(sweep_harness.desk.outbox)
        assert (again.body, again.group_id) == (later.body, later.group_id)

    def test_it_finds_nothing_once_the_work_is_done(self, sweep_harness: SweepHarness) -> None:
        desk = sweep_harness.desk
        self.send_reply(desk)
        _, again = sweep_harness.check(desk.turns)
        assert (again, len(sweep_harness.wakeups.sent)) == ([], 1)

    def test_it_leaves_a_failed_attempt_to_the_message_that_comes_again(self, sweep_harness: SweepHarness) -> None:
        desk = sweep_harness.desk
        desk.send_whatsapp("How wide is the crack?")
        desk.model.script = [RuntimeError()]
        with pytest.raises(RuntimeError):
            desk.run_turn()
        _, again = sweep_harness.check(desk.turns)
        assert again == []
        assert sweep_harness.due_times()["session"] - desk.clock.now > SWEEP_DELAY / 2

    def test_work_goes_on_without_a_check_when_none_can_be_sent(self, sweep_harness: SweepHarness) -> None:
        queue, wakeups = FakeQueue(), FakeDelayedQueue(error=QueueUnavailable())
        message = QueueMessage({"tenant_id": str(uuid4()), "outbox_id": str(uuid4())}, "group", "once")
        CheckedQueue(queue, wakeups, sweep_harness.desk.clock).send([message])
        assert list(queue.sent.values()) == [message]


class TestReplies:
    """A reply that was committed and whose sender was never woken."""

    @pytest.fixture
    def unsent_reply(self, sweep_harness: SweepHarness) -> UUID:
        sweep_harness.desk.send_whatsapp("How wide is the crack?")
        sweep_harness.desk.outbox.error = QueueUnavailable()
        with pytest.raises(QueueUnavailable):
            sweep_harness.answer()
        sweep_harness.desk.outbox.error = None
        ((outbox_id, state),) = sweep_harness.desk.query("SELECT id, state FROM outbox")
        assert (state, sweep_harness.desk.outbox.sent) == ("pending", {})
        assert isinstance(outbox_id, UUID)
        return outbox_id

    def woken_replies(self, sweep_harness: SweepHarness) -> list[UUID]:
        return [outbox.parse_wakeup(message.body)[1] for message in sweep_harness.desk.outbox.sent.values()]

    def test_the_redelivered_wake_sends_it(self, sweep_harness: SweepHarness, unsent_reply: UUID) -> None:
        sweep_harness.desk.run_turn()
        assert self.woken_replies(sweep_harness) == [unsent_reply]

    def test_the_duplicate_sends_it(self, sweep_harness: SweepHarness, unsent_reply: UUID) -> None:
        assert sweep_harness.desk.send_whatsapp("How wide is the crack?") == "duplicate"
        sweep_harness.desk.run_turn()
        assert self.woken_replies(sweep_harness) == [unsent_reply]

    def test_the_sweep_sends_it(self, sweep_harness: SweepHarness, unsent_reply: UUID) -> None:
        assert sweep_harness.sweep().woken_count == 1
        assert self.woken_replies(sweep_harness) == [unsent_reply]
        assert sweep_harness.due_times()["outbox"] - sweep_harness.desk.clock.now > SWEEP_DELAY - MINUTE

    def test_one_that_a_sender_died_with_is_woken_and_becomes_unknown(
        self, sweep_harness: SweepHarness, unsent_reply: UUID
    ) -> None:
        sweep_harness.desk.query("UPDATE outbox SET state = 'sending', attempts = 1 RETURNING 1")
        assert sweep_harness.sweep().woken_count == 1
        assert self.woken_replies(sweep_harness) == [unsent_reply]

    @pytest.mark.parametrize("state", ["sent", "delivered", "read", "failed", "unknown", "held"])
    def test_one_that_is_through_or_a_persons_matter_is_settled(
        self, sweep_harness: SweepHarness, unsent_reply: UUID, state: str
    ) -> None:
        sweep_harness.desk.query(f"UPDATE outbox SET state = '{state}' RETURNING 1")
        assert sweep_harness.sweep() == SweepResult(0, 1, 0, has_more=False)
        assert (self.woken_replies(sweep_harness), sweep_harness.due_times()) == ([], {})


class TestLongCalls:
    """A heavy call that was committed and never reached its queue, or whose dispatcher died."""

    @pytest.fixture
    def waiting_call(self, sweep_harness: SweepHarness) -> UUID:
        desk = sweep_harness.desk
        script_long_call(desk)
        desk.tools.error = QueueUnavailable()
        with pytest.raises(QueueUnavailable):
            desk.run_turn()
        desk.tools.error = None
        ((call_id,),) = desk.query("SELECT id FROM tool_calls WHERE heavy AND state = 'reserved'")
        assert isinstance(call_id, UUID)
        return call_id

    def woken_calls(self, sweep_harness: SweepHarness) -> list[str]:
        return [str(message.body["tool_call_id"]) for message in sweep_harness.desk.tools.sent.values()]

    def test_the_redelivered_wake_dispatches_it(self, sweep_harness: SweepHarness, waiting_call: UUID) -> None:
        sweep_harness.answer("Working on it.")
        assert self.woken_calls(sweep_harness) == [str(waiting_call)]

    def test_the_duplicate_dispatches_it(self, sweep_harness: SweepHarness, waiting_call: UUID) -> None:
        assert sweep_harness.desk.send_whatsapp("Render the model, please") == "duplicate"
        sweep_harness.answer("Working on it.")
        assert self.woken_calls(sweep_harness) == [str(waiting_call)]

    def test_the_sweep_dispatches_it(self, sweep_harness: SweepHarness, waiting_call: UUID) -> None:
        assert sweep_harness.sweep().woken_count == 2  # and the turn that was broken off
        assert self.woken_calls(sweep_harness) == [str(waiting_call)]

    def test_one_that_somebody_is_at_is_left_alone_until_their_time_is_over(
        self, sweep_harness: SweepHarness, waiting_call: UUID
    ) -> None:
        until = sweep_harness.desk.clock.now + SWEEP_DELAY + 5 * MINUTE
        sweep_harness.desk.query(
            f"UPDATE tool_calls SET state = 'running', run_until = '{until.isoformat()}' RETURNING 1"
        )
        assert sweep_harness.sweep().busy_count == 1
        assert self.woken_calls(sweep_harness) == []
        assert sweep_harness.due_times()["tool_call"] == until + MINUTE
        sweep_harness.sweep(2 * MINUTE)
        assert self.woken_calls(sweep_harness) == []
        sweep_harness.sweep(4 * MINUTE)
        assert self.woken_calls(sweep_harness) == [str(waiting_call)]

    def test_one_that_has_ended_is_settled(self, sweep_harness: SweepHarness, waiting_call: UUID) -> None:
        sweep_harness.desk.query("UPDATE tool_calls SET state = 'unknown', finished_at = now() RETURNING 1")
        sweep_harness.sweep()
        assert "tool_call" not in sweep_harness.due_times()
        assert self.woken_calls(sweep_harness) == []


class TestSweeping:
    """All of it together."""

    def make_due(self, sweep_harness: SweepHarness, count: int) -> list[UUID]:
        ids = [uuid4() for _ in range(count)]
        with sweep_harness.desk.database.transaction(sweep_harness.desk.tenant_id) as tx:
            for index, one in enumerate(ids):
                work_due.schedule(tx, "session", one, sweep_harness.desk.clock.now + index * timedelta(seconds=1))
        return ids

    def test_batches_are_done_until_nothing_is_due(
        self, sweep_harness: SweepHarness, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sweeping, "BATCH_SIZE", 3)
        self.make_due(sweep_harness, 8)
        assert sweep_harness.sweep() == SweepResult(0, 8, 0, has_more=False)
        assert "SweepBehind" not in capsys.readouterr().out

    def test_nothing_new_is_begun_when_the_time_is_nearly_over_and_the_next_sweep_goes_on(
        self, sweep_harness: SweepHarness, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.make_due(sweep_harness, 5)
        sweep_harness.desk.clock.now += SWEEP_DELAY
        seconds_left = iter([60.0, 60.0, 11.0, 9.0, 9.0])
        result = sweep(sweep_harness.make_dependencies(), lambda: next(seconds_left))
        assert result == SweepResult(0, 2, 0, has_more=True)
        assert "SweepBehind" in capsys.readouterr().out
        assert sweep_harness.sweep(timedelta()) == SweepResult(0, 3, 0, has_more=False)

    def test_two_at_once_wake_once(self, sweep_harness: SweepHarness, open_database: Callable[[], Database]) -> None:
        sweep_harness.desk.send_whatsapp("How wide is the crack?")
        sweep_harness.desk.turns.sent.clear()
        sweep_harness.desk.clock.now += SWEEP_DELAY + MINUTE
        together, swept = Barrier(4), []

        def one(net: SweepDependencies) -> None:
            together.wait()
            swept.append(sweep(net, lambda: 60.0))

        threads = [Thread(target=one, args=(sweep_harness.make_dependencies(open_database()),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(one.woken_count for one in swept) == 1
        assert len(sweep_harness.desk.turns.sent) == 1

    def test_one_that_breaks_the_look_stands_in_nobodys_way(self, sweep_harness: SweepHarness) -> None:
        def break_off(tx: object, work: DueWork, now: datetime) -> None:
            raise ZeroDivisionError

        sweep_harness.finders = {"tool_call": break_off}
        broken = uuid4()
        sweep_harness.desk.database.run(
            sweep_harness.desk.tenant_id,
            lambda tx: work_due.schedule(tx, "tool_call", broken, sweep_harness.desk.clock.now),
        )
        self.make_due(sweep_harness, 2)
        assert sweep_harness.sweep() == SweepResult(0, 2, 0, has_more=False)
        assert (
            timedelta(minutes=50)
            < sweep_harness.due_times()["tool_call"] - sweep_harness.desk.clock.now
            < timedelta(minutes=61)
        )

    def test_a_queue_that_is_away_loses_nothing(self, sweep_harness: SweepHarness) -> None:
        sweep_harness.desk.send_whatsapp("How wide is the crack?")
        sweep_harness.desk.turns.sent.clear()
        sweep_harness.desk.turns.error = QueueUnavailable()
        with pytest.raises(QueueUnavailable):
            sweep_harness.sweep()
        sweep_harness.desk.turns.error = None
        assert sweep_harness.sweep(2 * SWEEP_DELAY).woken_count == 1


class TestWakeUps:
    """The same by the minute, for one piece of work."""

    def test_one_that_is_early_comes_again(self, sweep_harness: SweepHarness) -> None:
        due_at = sweep_harness.desk.clock.now + timedelta(hours=2)
        sweep_harness.wake_up("tool_call", uuid4(), due_at)
        ((body, seconds),) = sweep_harness.wakeups.sent
        assert (DueWork.from_json(body).due_at, 7190 < seconds <= 7200) == (due_at, True)

    def test_one_that_is_due_wakes_and_comes_again_until_its_work_is_done(self, sweep_harness: SweepHarness) -> None:
        sweep_harness.desk.send_whatsapp("How wide is the crack?")
        sweep_harness.desk.turns.sent.clear()
        sweep_harness.desk.clock.now += SWEEP_DELAY + MINUTE
        sweep_harness.wake_up("session", self.session_of(sweep_harness), sweep_harness.due_times()["session"])
        assert len(sweep_harness.desk.turns.sent) == 1
        ((again, _),) = sweep_harness.wakeups.sent
        assert DueWork.from_json(again).due_at == sweep_harness.due_times()["session"]
        sweep_harness.answer()
        sweep_harness.wakeups.sent.clear()
        sweep_harness.wake_up("session", self.session_of(sweep_harness), sweep_harness.desk.clock.now)
        assert sweep_harness.wakeups.sent == []

    def test_one_whose_work_is_settled_is_done_with(self, sweep_harness: SweepHarness) -> None:
        sweep_harness.wake_up("session", uuid4(), sweep_harness.desk.clock.now)
        assert (sweep_harness.desk.turns.sent, sweep_harness.wakeups.sent) == ({}, [])

    def test_one_whose_work_was_put_off_comes_when_that_is_due(self, sweep_harness: SweepHarness) -> None:
        work, later = uuid4(), sweep_harness.desk.clock.now + timedelta(hours=1)
        sweep_harness.desk.database.run(
            sweep_harness.desk.tenant_id, lambda tx: work_due.schedule(tx, "tool_call", work, later)
        )
        sweep_harness.wake_up("tool_call", work, sweep_harness.desk.clock.now)
        assert [DueWork.from_json(body).due_at for body, _ in sweep_harness.wakeups.sent] == [later]

    def test_one_whose_work_somebody_is_at_comes_when_they_should_be_done(self, sweep_harness: SweepHarness) -> None:
        sweep_harness.desk.send_whatsapp("How wide is the crack?")
        sweep_harness.desk.clock.now += SWEEP_DELAY + MINUTE
        until = sweep_harness.desk.clock.now + 2 * MINUTE
        sweep_harness.desk.query(f"UPDATE sessions SET lease_until = '{until.isoformat()}' RETURNING 1")
        sweep_harness.wake_up("session", self.session_of(sweep_harness), sweep_harness.due_times()["session"])
        assert [DueWork.from_json(body).due_at for body, _ in sweep_harness.wakeups.sent] == [until + MINUTE]

    @pytest.mark.parametrize("change", [{"kind": "other"}, {"id": "x"}, {"due_at": "soon"}, {"tenant_id": None}])
    def test_one_that_is_none_is_refused(self, sweep_harness: SweepHarness, change: JsonObject) -> None:
        body = DueWork(sweep_harness.desk.tenant_id, "session", uuid4(), sweep_harness.desk.clock.now).to_json()
        with pytest.raises(MalformedPayload):
            handle_wakeup(sweep_harness.make_dependencies(), {**body, **change})

    def session_of(self, sweep_harness: SweepHarness) -> UUID:
        ((session,),) = sweep_harness.desk.query("SELECT session_id FROM messages LIMIT 1")
        assert isinstance(session, UUID)
        return session


class TestPassingEvents:
    def test_goes_a_day_after_it_was_sent_and_its_turn_ended(self, sweep_harness: SweepHarness) -> None:
        desk = sweep_harness.desk
        visitor = desk.create_visitor()
        desk.send_web(visitor, desk.find_session(visitor), "How wide is the crack?")
        sweep_harness.answer()
        kinds = desk.query("SELECT kind FROM events ORDER BY number")
        assert ("text_delta",) in kinds
        desk.clock.now += DAY - 10 * MINUTE
        sweep_harness.sweep()
        assert desk.query("SELECT kind FROM events ORDER BY number") == kinds
        desk.clock.now += 10 * MINUTE
        sweep_harness.sweep()
        left = desk.query("SELECT kind FROM events ORDER BY number")
        assert left == [one for one in kinds if one not in {("text_delta",), ("agent_state",), ("context_usage",)}]
        assert desk.query("SELECT 1 FROM work_due WHERE kind = 'event_retention'") == []

    def test_of_a_tenant_that_talks_all_day_are_looked_at_once_an_hour(self, sweep_harness: SweepHarness) -> None:
        desk = sweep_harness.desk
        visitor = desk.create_visitor()
        session_id = desk.find_session(visitor)
        for _ in range(2):
            desk.send_web(visitor, session_id, "How wide is the crack?")
            sweep_harness.answer()
            desk.clock.now += 20 * MINUTE
        desk.clock.now += DAY - 30 * MINUTE  # the first turn's events are old, the second's nearly
        sweep_harness.sweep()
        ((due_at,),) = desk.query("SELECT due_at FROM work_due WHERE kind = 'event_retention'")
        assert isinstance(due_at, datetime)
        assert due_at >= desk.clock.now + 59 * MINUTE

    def test_of_an_open_turn_stays_and_is_looked_at_again(self, sweep_harness: SweepHarness) -> None:
        desk = sweep_harness.desk
        visitor = desk.create_visitor()
        desk.send_web(visitor, desk.find_session(visitor), "How wide is the crack?")
        sweep_harness.answer()
        desk.query("UPDATE turns SET state = 'open' RETURNING id")
        desk.clock.now += 2 * DAY
        sweep_harness.sweep()
        assert desk.query("SELECT kind FROM events WHERE kind = 'text_delta'")
        assert desk.query("SELECT 1 FROM work_due WHERE kind = 'event_retention'")


class TestSilentVisitors:
    def test_go_after_thirty_days(self, sweep_harness: SweepHarness) -> None:
        desk = sweep_harness.desk
        first, speaker = desk.create_visitor(), desk.create_visitor()
        desk.send_web(speaker, desk.find_session(speaker), "How wide is the crack?")
        sweep_harness.answer()
        desk.clock.now += 10 * DAY
        second = desk.create_visitor()
        for days, left in ((19, {first, speaker, second}), (2, {speaker, second}), (9, {speaker})):
            desk.clock.now += days * DAY
            sweep_harness.sweep()
            sweep_harness.sweep()
            assert {one for (one,) in desk.query("SELECT id FROM users")} == {one.id for one in left}
        assert desk.query("SELECT 1 FROM work_due WHERE kind = 'visitor_retention'") == []
        assert desk.query("SELECT count(*) FROM sessions") == [(1,)]

    def test_of_a_backlog_go_in_several_sweeps_oldest_first(
        self, sweep_harness: SweepHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(visitor_retention, "_BATCHES_PER_RUN", 3)
        monkeypatch.setattr(visitor_retention, "_BATCH_SIZE", 1)
        desk = sweep_harness.desk
        for days in (0, 0, 5, 30, 30):
            desk.clock.now += days * DAY
            desk.create_visitor()
        desk.clock.now += 31 * DAY
        left = []
        for _ in range(6):
            sweep_harness.sweep()
            left.append(desk.query("SELECT count(*) FROM users")[0][0])
        assert left[0] == 3
        assert left[-1] == 0
        assert desk.query("SELECT 1 FROM work_due WHERE kind = 'visitor_retention'") == []


class TestPrompts:
    """What is kept of prompts goes by the month, a bounded number at a time."""

    def kept_months(self, sweep_harness: SweepHarness) -> tuple[int, int]:
        ((ledgers, words),) = sweep_harness.desk.query(
            "SELECT (SELECT count(*) FROM ledgers), (SELECT count(*) FROM ledger_texts)"
        )
        return int(str(ledgers)), int(str(words))

    def sweep_months(self, sweep_harness: SweepHarness) -> list[datetime]:
        every = sweep_harness.desk.database.run(
            None, lambda tx: work_due.list_overdue(tx, sweep_harness.desk.clock() + 99 * DAY, 99)
        )
        return [one.due_at for one in every if one.kind == "prompt_retention"]

    def test_a_month_goes_when_its_last_day_is_old_enough(self, sweep_harness: SweepHarness) -> None:
        sweep_harness.desk.send_whatsapp("How wide is the crack?")
        sweep_harness.answer()
        (april,) = self.sweep_months(sweep_harness)
        assert april.day == 1
        kept = self.kept_months(sweep_harness)
        assert kept[0] == 1
        sweep_harness.desk.clock.now = april
        sweep_harness.sweep(MINUTE)
        assert self.kept_months(sweep_harness) == kept
        assert self.sweep_months(sweep_harness) == [april + 30 * DAY]
        sweep_harness.desk.clock.now = april + 30 * DAY
        sweep_harness.sweep(MINUTE)
        assert self.kept_months(sweep_harness) == (0, 0)
        assert self.sweep_months(sweep_harness) == []

    def test_the_newer_months_stay_and_the_next_is_looked_at_in_its_time(self, sweep_harness: SweepHarness) -> None:
        sweep_harness.desk.send_whatsapp("How wide is the crack?")
        sweep_harness.answer()
        (april,) = self.sweep_months(sweep_harness)
        sweep_harness.desk.clock.now = april + 10 * DAY
        sweep_harness.desk.send_whatsapp("And now?", "m2")
        sweep_harness.answer()
        assert self.kept_months(sweep_harness)[0] == 2
        sweep_harness.desk.clock.now = april + 30 * DAY
        sweep_harness.sweep(MINUTE)
        assert self.kept_months(sweep_harness)[0] == 1
        assert self.sweep_months(sweep_harness) == [april + 60 * DAY]

    def test_many_go_a_bounded_number_at_a_time(
        self, sweep_harness: SweepHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(retention, "_BATCH_SIZE", 2)
        monkeypatch.setattr(retention, "_BATCHES_PER_RUN", 2)
        sweep_harness.desk.send_whatsapp("How wide is the crack?")
        sweep_harness.answer()
        (april,) = self.sweep_months(sweep_harness)
        sweep_harness.desk.clock.now = april + 30 * DAY
        before = sum(self.kept_months(sweep_harness))
        sweep_harness.sweep(MINUTE)
        assert before - 8 <= sum(self.kept_months(sweep_harness)) < before
        (again,) = self.sweep_months(sweep_harness)
        assert again - sweep_harness.desk.clock.now <= SWEEP_DELAY
