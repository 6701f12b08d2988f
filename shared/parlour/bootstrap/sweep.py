"""What is due, to the queue that does it."""

import functools
from collections.abc import Callable
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import SweepSettings, load
from parlour.turns.sweep import Net, Swept, sweep, wake_up


@functools.cache
def build_sweep() -> Callable[[SecondsLeft], Swept]:
    """Everything that is due, as far as the time allows."""
    settings, net = _net()

    def sweeping(seconds_left: SecondsLeft) -> Swept:
        net.database.limit(seconds_left)
        try:
            return sweep(net, seconds_left)
        finally:
            if settings.database_idle:
                net.database.close()

    return sweeping


@functools.cache
def build_wakeup() -> Work[JsonObject]:
    """One wake-up: the piece of work that it is about."""
    settings, net = _net()

    def waking(body: JsonObject, _seconds_left: SecondsLeft) -> None:
        wake_up(net, body)

    return limited(net.database, settings, waking)


@functools.cache
def _net() -> tuple[SweepSettings, Net]:
    settings = load(SweepSettings)
    net = Net(
        database=database(settings, clients.secrets()),
        turns={
            "whatsapp": clients.queue(settings.turns_messaging_queue_url),
            "web": clients.queue(settings.turns_web_queue_url),
        },
        outbox=clients.queue(settings.outbox_queue_url),
        tools=clients.queue(settings.tools_queue_url),
        ingest=clients.queue(settings.ingest_queue_url),
        embedding=clients.delays(settings.embedding_queue_url),
        memory=clients.delays(settings.memory_queue_url),
        wakeups=clients.delays(settings.wakeups_queue_url),
        clock=lambda: datetime.now(UTC),
        ledger_days=settings.ledger_days,
    )
    return settings, net
