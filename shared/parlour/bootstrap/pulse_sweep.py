"""Due Pulses to their writers."""

import functools
from collections.abc import Callable
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import MessageHandler, make_database, with_time_limit
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import PulseSweepSettings, load_settings
from parlour.pulse.due.sweep import PulseSweepDependencies, PulseSweepResult, sweep
from parlour.pulse.due.wakeups import handle_wakeup


@functools.cache
def build_sweep() -> Callable[[SecondsLeft], PulseSweepResult]:
    """Every tenant's Pulses that are due, as far as the time allows."""
    settings, sweeper = _make_sweep()

    def sweeping(seconds_left: SecondsLeft) -> PulseSweepResult:
        sweeper.database.set_time_limit(seconds_left)
        try:
            return sweep(sweeper, seconds_left)
        finally:
            if settings.database_idle:
                sweeper.database.close()

    return sweeping


@functools.cache
def build_wakeup() -> MessageHandler[JsonObject]:
    """One wake-up: its tenant's Pulses that are due."""
    settings, sweeper = _make_sweep()
    wakeups = clients.make_delayed_queue(settings.pulse_wakeups_queue_url)

    def run_wakeup(body: JsonObject, _seconds_left: SecondsLeft) -> None:
        handle_wakeup(sweeper, wakeups, body)

    return with_time_limit(sweeper.database, settings, run_wakeup)


@functools.cache
def _make_sweep() -> tuple[PulseSweepSettings, PulseSweepDependencies]:
    settings = load_settings(PulseSweepSettings)
    sweeper = PulseSweepDependencies(
        database=make_database(settings, clients.make_secret_store()),
        pulse_queue=clients.make_delayed_queue(settings.pulse_queue_url),
        default_cap=settings.daily_cap_usd,
        default_pulse_cap=settings.pulse_daily_cap_usd,
        clock=lambda: datetime.now(UTC),
    )
    return settings, sweeper
