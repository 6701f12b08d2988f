"""Due Pulses to their writers."""

import functools
from collections.abc import Callable
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import PulseSweepSettings, load
from parlour.pulse.due.sweep import Sweeper, Swept, sweep
from parlour.pulse.due.wakeups import wake


@functools.cache
def build_sweep() -> Callable[[SecondsLeft], Swept]:
    """Every tenant's Pulses that are due, as far as the time allows."""
    settings, sweeper = _sweeper()

    def sweeping(seconds_left: SecondsLeft) -> Swept:
        sweeper.database.limit(seconds_left)
        try:
            return sweep(sweeper, seconds_left)
        finally:
            if settings.database_idle:
                sweeper.database.close()

    return sweeping


@functools.cache
def build_wakeup() -> Work[JsonObject]:
    """One wake-up: its tenant's Pulses that are due."""
    settings, sweeper = _sweeper()
    wakeups = clients.delays(settings.pulse_wakeups_queue_url)

    def waking(body: JsonObject, _seconds_left: SecondsLeft) -> None:
        wake(sweeper, wakeups, body)

    return limited(sweeper.database, settings, waking)


@functools.cache
def _sweeper() -> tuple[PulseSweepSettings, Sweeper]:
    settings = load(PulseSweepSettings)
    sweeper = Sweeper(
        database=database(settings, clients.secrets()),
        pulses=clients.delays(settings.pulse_queue_url),
        default_cap=settings.daily_cap_usd,
        pulse_cap=settings.pulse_daily_cap_usd,
        clock=lambda: datetime.now(UTC),
    )
    return settings, sweeper
