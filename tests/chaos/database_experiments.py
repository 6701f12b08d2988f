"""A database that goes away, and connections that do not last."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from unittest import mock
from uuid import UUID

import psycopg

from local.workers import InvocationResult, InvocationWrapper
from parlour.infra.errors import DatabaseUnavailable
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal
from tests.chaos.chaos_environment import ChaosEnvironment
from tests.chaos.conversations import Conversation, Conversations
from tests.chaos.experiments import (
    add_conversations,
    deliver_all,
    list_broken_guarantees,
    poll_in_background,
    run_in_background,
)
from tests.chaos.queue_poller import Delivery, QueuePoller
from tests.chaos.report import ResultRow

DOWN_SECONDS = 30.0
EVERY_SECONDS = 0.2
MESSAGES = 60

_INTERVAL_TEXT = f"every {EVERY_SECONDS * 1000:.0f} ms"
_TERMINATE_CONNECTIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'parlour_app'"


def run_database_outage(world: ChaosEnvironment) -> list[ResultRow]:
    """The database is gone for half a minute while people write: every webhook 200, all answered afterwards."""
    desk = world.create_tenant("down")
    conversations, people = add_conversations(world, desk, MESSAGES)
    world.cluster.crash()
    begun = time.monotonic()
    with run_in_background(poll_in_background(world)):
        for number, person in enumerate(people, start=1):
            conversations.send_message(person)
            time.sleep(max(0.0, begun + number * DOWN_SECONDS / MESSAGES - time.monotonic()))
        down = time.monotonic() - begun
        world.cluster.restart()
        back = time.monotonic()
    deliver_all(conversations)
    refused = sum(bool(person.problems) for person in people)
    said = (
        f"{MESSAGES - refused} of {MESSAGES} webhooks got 200 within {down:.0f} s without a database, "
        f"all at rest {time.monotonic() - back:.0f} s after it was back"
    )
    return [
        ResultRow(
            "database down",
            f"{DOWN_SECONDS:.0f} s",
            outcome=said,
            broken_guarantees=list_broken_guarantees(world, desk, people),
        )
    ]


def run_connection_kills(world: ChaosEnvironment) -> list[ResultRow]:
    """Every connection is killed every 200 ms: all answered. Beside it, the same without the second try."""
    desk = world.create_tenant("cut")
    conversations, people = add_conversations(world, desk, MESSAGES)
    said = _run_under_connection_kills(world, conversations, people, None, 120)
    kept = ResultRow(
        "connections cut", _INTERVAL_TEXT, outcome=said, broken_guarantees=list_broken_guarantees(world, desk, people)
    )
    desk = world.create_tenant("cut-control")
    conversations, people = add_conversations(world, desk, MESSAGES // 3)
    said = _run_under_connection_kills(world, conversations, people, NoRetry(), 10)
    lost = len(list_broken_guarantees(world, desk, people))
    outcome = f"{said}; {lost} promises broken, for comparison"
    return [kept, ResultRow("connections cut", f"{_INTERVAL_TEXT}, without the second try", outcome=outcome)]


def _run_under_connection_kills(
    world: ChaosEnvironment,
    conversations: Conversations,
    people: list[Conversation],
    wrap: InvocationWrapper | None,
    seconds: float,
) -> str:
    """Messages delivered while connections are cut, for so long at most; in words, how it went."""
    counted = _InvocationCounts()
    conversations.write_all(people)
    begun = time.monotonic()
    with run_in_background(_kill_connections(world)):
        rested = QueuePoller(world, lambda _: wrap, counted).run(seconds)
    took = time.monotonic() - begun
    deliver_all(conversations)
    return (
        f"{len(people)} messages, {counted.invocations} invocations, {counted.failed} of them to be repeated, "
        f"{'at rest' if rested else 'not at rest'} after {took:.0f} s"
    )


@dataclass(frozen=True, slots=True)
class NoRetry:
    """For comparison: no connection that is found dead is replaced, and no work repeated, within the invocation."""

    needs_cold_worker: bool = False

    def __call__(self, call: Callable[[], Any], /) -> Any:
        with mock.patch.object(Database, "run", _run_once), mock.patch.object(Database, "_begin", _begin_once):
            return call()


def _run_once[R](self: Database, principal: Principal | UUID | None, work: Callable[[Transaction], R], /) -> R:
    with self.transaction(principal) as tx:
        return work(tx)


def _begin_once(self: Database, tenant: UUID | None) -> psycopg.Connection[Any]:
    try:
        return self._open(tenant)
    except psycopg.OperationalError as error:
        self.close()
        raise DatabaseUnavailable from error


@dataclass(slots=True)
class _InvocationCounts:
    invocations: int = 0
    failed: int = 0

    def __call__(self, _delivery: Delivery, ended: InvocationResult, _begun: float) -> None:
        self.invocations += 1
        self.failed += ended.outcome != "answered" or bool((ended.answer or {}).get("batchItemFailures"))


def _kill_connections(world: ChaosEnvironment) -> Callable[[threading.Event], None]:
    def cut(over: threading.Event) -> None:
        with world.cluster.connect_as_superuser() as superuser:
            while not over.wait(EVERY_SECONDS):
                with suppress(psycopg.Error):
                    superuser.execute(_TERMINATE_CONNECTIONS)

    return cut
