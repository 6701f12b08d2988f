"""Records to Pulses."""

import functools
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.bootstrap.providers import providers
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database, SecondsLeft
from parlour.infra.settings import PulseWriterSettings, load
from parlour.pulse.due.wakeups import wake_later
from parlour.pulse.pulse import Order
from parlour.pulse.writing import writer
from parlour.pulse.writing.draft import Services


def _now() -> datetime:
    return datetime.now(UTC)


@functools.cache
def build_pulse_writer() -> Work[JsonObject]:
    """One order: one record's Pulses, or the answer to one question."""
    settings = load(PulseWriterSettings)
    secrets = clients.secrets()
    store = database(settings, secrets)
    services = Services(
        database=store,
        models=lambda: providers(
            secrets.get(settings.model_secret), settings.anthropic_base_url, with_bedrock=settings.bedrock_claude
        ),
        default_cap=settings.daily_cap_usd,
        pulse_cap=settings.pulse_daily_cap_usd,
        age=timedelta(hours=settings.pulse_age_hours),
        ended=_waking(settings, store),
        clock=_now,
        new_id=uuid7,
        sleep=time.sleep,
        jitter=random.SystemRandom().uniform,
    )

    def writing(body: JsonObject, seconds_left: SecondsLeft) -> None:
        writer.run(services, Order.from_json(body), seconds_left)

    return limited(store, settings, writing)


def _waking(settings: PulseWriterSettings, store: Database) -> Callable[[UUID], None]:
    """Where no schedule looks every minute, what is due next is woken by a message."""
    wakeups = clients.delays(settings.pulse_wakeups_queue_url)
    if not settings.database_idle:
        return lambda _: None

    def wake(tenant_id: UUID) -> None:
        wake_later(store, wakeups, tenant_id, _now())

    return wake
