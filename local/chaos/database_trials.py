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

from local.chaos.conversations import Conversation, Conversations
from local.chaos.pump import Delivery, Pump
from local.chaos.report import Row
from local.chaos.trials import broken, crowd, meanwhile, pumping, settle
from local.chaos.world import World
from local.workers import Ended, Wrap
from parlour.infra.errors import DatabaseUnavailable
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal

DOWN_SECONDS = 30.0
EVERY_SECONDS = 0.2
MESSAGES = 60

_WHAT = f"every {EVERY_SECONDS * 1000:.0f} ms"
_CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'parlour_app'"


def database_down(world: World) -> list[Row]:
    """The database is gone for half a minute while people write: every webhook 200, all answered afterwards."""
    desk = world.open_desk("down")
    conversations, people = crowd(world, desk, MESSAGES)
    world.cluster.crash()
    begun = time.monotonic()
    with meanwhile(pumping(world)):
        for number, person in enumerate(people, start=1):
            conversations.write(person)
            time.sleep(max(0.0, begun + number * DOWN_SECONDS / MESSAGES - time.monotonic()))
        down = time.monotonic() - begun
        world.cluster.start_again()
        back = time.monotonic()
    settle(conversations)
    refused = sum(bool(person.problems) for person in people)
    said = (
        f"{MESSAGES - refused} of {MESSAGES} webhooks got 200 within {down:.0f} s without a database, "
        f"all at rest {time.monotonic() - back:.0f} s after it was back"
    )
    return [Row("database down", f"{DOWN_SECONDS:.0f} s", outcome=said, broken=broken(world, desk, people))]


def connections_cut(world: World) -> list[Row]:
    """Every connection is killed every 200 ms: all answered. Beside it, the same without the second try."""
    desk = world.open_desk("cut")
    conversations, people = crowd(world, desk, MESSAGES)
    said = _under_fire(world, conversations, people, None, 120)
    kept = Row("connections cut", _WHAT, outcome=said, broken=broken(world, desk, people))
    desk = world.open_desk("cut-control")
    conversations, people = crowd(world, desk, MESSAGES // 3)
    said = _under_fire(world, conversations, people, NoSecondTry(), 10)
    lost = len(broken(world, desk, people))
    outcome = f"{said}; {lost} promises broken, for comparison"
    return [kept, Row("connections cut", f"{_WHAT}, without the second try", outcome=outcome)]


def _under_fire(
    world: World, conversations: Conversations, people: list[Conversation], wrap: Wrap | None, seconds: float
) -> str:
    """Messages delivered while connections are cut, for so long at most; in words, how it went."""
    counted = _Count()
    conversations.begin(people)
    begun = time.monotonic()
    with meanwhile(_cutting(world)):
        rested = Pump(world, lambda _: wrap, counted).run(seconds)
    took = time.monotonic() - begun
    settle(conversations)
    return (
        f"{len(people)} messages, {counted.invocations} invocations, {counted.failed} of them to be repeated, "
        f"{'at rest' if rested else 'not at rest'} after {took:.0f} s"
    )


@dataclass(frozen=True, slots=True)
class NoSecondTry:
    """For comparison: no connection that is found dead is replaced, and no work repeated, within the invocation."""

    cold: bool = False

    def __call__(self, call: Callable[[], Any], /) -> Any:
        with mock.patch.object(Database, "run", _once), mock.patch.object(Database, "_begin", _begin_once):
            return call()


def _once[R](self: Database, principal: Principal | UUID | None, work: Callable[[Transaction], R], /) -> R:
    with self.transaction(principal) as tx:
        return work(tx)


def _begin_once(self: Database, tenant: UUID | None) -> psycopg.Connection[Any]:
    try:
        return self._open(tenant)
    except psycopg.OperationalError as error:
        self.close()
        raise DatabaseUnavailable from error


@dataclass(slots=True)
class _Count:
    invocations: int = 0
    failed: int = 0

    def __call__(self, _delivery: Delivery, ended: Ended, _begun: float) -> None:
        self.invocations += 1
        self.failed += ended.how != "answered" or bool((ended.answer or {}).get("batchItemFailures"))


def _cutting(world: World) -> Callable[[threading.Event], None]:
    def cut(over: threading.Event) -> None:
        with world.cluster.superuser() as superuser:
            while not over.wait(EVERY_SECONDS):
                with suppress(psycopg.Error):
                    superuser.execute(_CUT)

    return cut
