"""Records to Pulses."""

import functools
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from parlour.bootstrap import clients
from parlour.bootstrap.database import MessageHandler, make_database, with_time_limit
from parlour.bootstrap.model_providers import make_providers, read_demo_scenes
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, SecondsLeft
from parlour.infra.settings import PulseWriterSettings, load_settings
from parlour.models.model import Model
from parlour.pulse.due.wakeups import schedule_wakeup
from parlour.pulse.pulse import PulseJob
from parlour.pulse.writing import writing_job
from parlour.pulse.writing.demo_pulse import DemoPulseModel
from parlour.pulse.writing.level_draft import PulseDependencies


def _now() -> datetime:
    return datetime.now(UTC)


@functools.cache
def build_pulse_writer() -> MessageHandler[JsonObject]:
    """One order: one record's Pulses, or the answer to one question."""
    settings = load_settings(PulseWriterSettings)
    secrets = clients.make_secret_store()
    store = make_database(settings, secrets)
    services = PulseDependencies(
        database=store,
        models=dict,
        default_cap=settings.daily_cap_usd,
        default_pulse_cap=settings.pulse_daily_cap_usd,
        max_age=timedelta(hours=settings.pulse_age_hours),
        on_written=_make_wake(settings, store),
        clock=_now,
        sleep=time.sleep,
        jitter=random.SystemRandom().uniform,
    )

    def read_models(tenant_id: UUID) -> Mapping[str, Model]:
        models = make_providers(
            secrets.get(settings.model_secret), settings.anthropic_base_url, with_bedrock=settings.bedrock_claude
        )
        scenes = read_demo_scenes(settings, models, store, tenant_id)
        return {**models, DemoPulseModel.provider: DemoPulseModel(scenes)} if scenes else models

    def writing(body: JsonObject, seconds_left: SecondsLeft) -> None:
        job = PulseJob.from_json(body)
        models = functools.partial(read_models, job.tenant_id)
        writing_job.run_pulse_job(replace(services, models=models), job, seconds_left)

    return with_time_limit(store, settings, writing)


def _make_wake(settings: PulseWriterSettings, store: Database) -> Callable[[UUID], None]:
    """Where no schedule looks every minute, what is due next is woken by a message."""
    wakeups = clients.make_delayed_queue(settings.pulse_wakeups_queue_url)
    if not settings.database_idle:
        return lambda _: None

    def wake(tenant_id: UUID) -> None:
        schedule_wakeup(store, wakeups, tenant_id, _now())

    return wake
