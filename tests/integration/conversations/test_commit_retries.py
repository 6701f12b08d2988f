"""A connection that dies around a commit: the work is done again, and it is as if it had been done once.

Every transaction of a turn is committed and then reported as lost, which is the worst that a dying connection can
do: `Database.run` does the work a second time on top of the first.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial

import psycopg
import pytest

from local.database import APP_ROLE, Cluster
from local.temporary_database import APP_PASSWORD
from parlour.infra.errors import DatabaseUnavailable
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction, connector
from parlour.tools.run import ToolContext
from tests.conversation_harness import (
    ConversationHarness,
    open_conversation_harness,
    search_call,
    text_answer,
    tool_call,
)


class LosingItsAnswers(Database):
    """Commits, and then behaves as if the connection had died before the answer: every first time."""

    def __init__(self, real: Database) -> None:
        super().__init__(real._connect)
        self.lost = 0
        self._again = False

    @contextmanager
    def transaction(self, principal: object) -> Iterator[Transaction]:
        with super().transaction(principal) as tx:  # type: ignore[arg-type]
            yield tx
        self._again = not self._again
        if self._again:
            self.lost += 1
            self.close()
            raise DatabaseUnavailable from psycopg.OperationalError("gone")


@pytest.fixture
def losing_answers() -> Iterator[Callable[[ConversationHarness], LosingItsAnswers]]:
    """A second way to a desk's database, closed at the end."""
    opened: list[LosingItsAnswers] = []

    def open_one(conversation: ConversationHarness) -> LosingItsAnswers:
        opened.append(LosingItsAnswers(conversation.database))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def another_desk(cluster: Cluster, template: str, now: datetime) -> Iterator[ConversationHarness]:
    """The same desk on a database of its own."""
    name = f"test_{uuid.uuid4().hex}"
    cluster.create(name, template)
    database = Database(connector(cluster.connection_parameters(name, APP_ROLE, APP_PASSWORD)))
    yield open_conversation_harness(database, now)
    database.close()
    cluster.drop(name)


def everything(conversation: ConversationHarness) -> dict[str, object]:
    """What a turn leaves behind, ids and times aside."""
    return {
        "messages": conversation.query("SELECT direction, state, body FROM messages ORDER BY position"),
        "turns": conversation.query("SELECT number, state, attempt_count FROM turns ORDER BY number"),
        "steps": conversation.query("SELECT number, stop_reason FROM steps ORDER BY number"),
        "llm_calls": conversation.query("SELECT step, outcome, input_tokens FROM llm_calls ORDER BY step, id"),
        "tool_calls": conversation.query("SELECT step, name, state, runs FROM tool_calls ORDER BY step"),
        "events": conversation.query("SELECT number, kind FROM events ORDER BY number"),
        "last_event": conversation.query(
            "SELECT last_event_number, lease_until FROM sessions ORDER BY last_event_number"
        ),
        "outbox": conversation.query("SELECT state, attempts FROM outbox"),
        "spent": conversation.query("SELECT spent_usd FROM spend_days"),
        "reserved": conversation.query("SELECT count(*) FROM spend_reservations"),
        "citations": conversation.query("SELECT number FROM citations"),
    }


@pytest.mark.parametrize("channel", ["whatsapp", "web"])
def test_a_turn_whose_every_commit_lost_its_answer_is_the_same_turn(
    conversation: ConversationHarness,
    losing_answers: Callable[[ConversationHarness], LosingItsAnswers],
    channel: str,
    another_desk: ConversationHarness,
) -> None:
    plain, losing = conversation, another_desk
    answers = losing_answers(losing)
    for one, database in ((plain, plain.database), (losing, answers)):
        done: list[JsonObject] = []
        one.add_tool("raise_rfi", partial(_note, done))
        if channel == "web":
            visitor = one.create_visitor()
            one.send_web(visitor, one.find_session(visitor), "How wide is the crack?")
        else:
            one.send_whatsapp("How wide is the crack?")
        one.model.script = [
            search_call("crack width C4"),
            tool_call("raise_rfi", "call_2"),
            text_answer("0.35 mm [1]."),
        ]
        one.run_turn(database=database)
        assert len(done) == 1
    assert answers.lost > 8
    assert everything(losing) == everything(plain)


def _note(done: list[JsonObject], _: ToolContext, arguments: JsonObject) -> JsonObject:
    done.append(arguments)
    return {"ok": True}


def test_a_lease_taken_by_a_lost_statement_is_the_workers_own(
    conversation: ConversationHarness, losing_answers: Callable[[ConversationHarness], LosingItsAnswers]
) -> None:
    conversation.send_whatsapp("Hello?")
    conversation.model.script = [text_answer("Hello.")]
    conversation.run_turn(database=losing_answers(conversation))
    assert conversation.query("SELECT state, attempt_count FROM turns") == [("answered", 1)]


def test_another_workers_lease_is_respected_all_the_same(
    conversation: ConversationHarness, losing_answers: Callable[[ConversationHarness], LosingItsAnswers]
) -> None:
    conversation.send_whatsapp("Hello?")
    conversation.query(
        f"UPDATE sessions SET lease_until = '{(conversation.clock() + timedelta(minutes=1)).isoformat()}', "
        "lease_holder = gen_random_uuid() RETURNING 1"
    )
    conversation.run_turn(database=losing_answers(conversation))
    assert conversation.query("SELECT has_pending_wake, (SELECT count(*) FROM turns) FROM sessions") == [(True, 0)]


def test_an_attempt_is_given_back_once(
    conversation: ConversationHarness, losing_answers: Callable[[ConversationHarness], LosingItsAnswers]
) -> None:
    conversation.send_whatsapp("Hello?")
    conversation.model.script = [DatabaseUnavailable()]
    with pytest.raises(DatabaseUnavailable):
        conversation.run_turn(database=losing_answers(conversation))
    assert conversation.query("SELECT state, attempt_count FROM turns") == [("open", 0)]
