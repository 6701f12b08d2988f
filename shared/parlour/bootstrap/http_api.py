"""REST and the console."""

import functools
from collections.abc import Mapping
from datetime import UTC, datetime

from fastapi import FastAPI

from parlour.api.app import create_app
from parlour.api.connections import Connections
from parlour.api.services import Services
from parlour.bootstrap import clients
from parlour.bootstrap.database import database
from parlour.bootstrap.embedding import spaces
from parlour.context import tokens
from parlour.infra.ids import uuid7
from parlour.infra.settings import HttpApiSettings, load
from parlour.jobs.dead_letters import DeadLetters
from parlour.tenancy import oidc
from parlour.tenancy.fetch import JsonFetch
from parlour.tenancy.oidc import Issuers
from parlour.tenancy.sign_in import SignIn

_IDLE_CONNECTIONS = 8
"""A function serves one request at a time and keeps one; under a web server this is how many stay open."""


@functools.cache
def build_http_api(*, local: bool = False, showcase: tuple[str, ...] = ()) -> FastAPI:
    """The app. `local`: a phone and a member's token are served beside it; `showcase`: tenants the console offers."""
    settings = load(HttpApiSettings)
    secrets = clients.secrets()
    issuers = Issuers(oidc.allowed(settings.oidc_issuers), settings.oidc_audience, JsonFetch())
    services = Services(
        connections=Connections(
            lambda: database(settings, secrets), kept=0 if settings.database_idle else _IDLE_CONNECTIONS
        ),
        sign_in=SignIn(
            issuers,
            token_secret=lambda: secrets.get(settings.token_secret),
            operator_secret=lambda: secrets.get(settings.operator_secret),
        ),
        turns=clients.queue(settings.turns_web_queue_url),
        messaging=clients.queue(settings.turns_messaging_queue_url),
        tools=clients.queue(settings.tools_queue_url),
        outbox=clients.queue(settings.outbox_queue_url),
        embedding=clients.delays(settings.embedding_queue_url),
        ingest=clients.queue(settings.ingest_queue_url),
        pulse=clients.delays(settings.pulse_queue_url),
        uploads=clients.uploads(settings.files_bucket),
        media=clients.uploads(settings.media_bucket),
        dead_letters=_dead_letters(settings),
        token_secret=lambda: secrets.get(settings.token_secret),
        default_cap=settings.daily_cap_usd,
        pulse_cap=settings.pulse_daily_cap_usd,
        spaces=spaces(settings, secrets),
        clock=lambda: datetime.now(UTC),
        new_id=uuid7,
        measure=tokens.count,
        environment=settings.environment,
        local=local,
        showcase=showcase,
    )
    return create_app(services)


def _dead_letters(settings: HttpApiSettings) -> Mapping[str, DeadLetters]:
    """What every queue gave up on, by the name that an operator calls the queue."""
    pairs = {
        "intake": (settings.intake_dead_letters_url, settings.intake_queue_url),
        "turns-messaging": (settings.turns_messaging_dead_letters_url, settings.turns_messaging_queue_url),
        "turns-web": (settings.turns_web_dead_letters_url, settings.turns_web_queue_url),
        "tools": (settings.tools_dead_letters_url, settings.tools_queue_url),
        "outbox": (settings.outbox_dead_letters_url, settings.outbox_queue_url),
        "ingest": (settings.ingest_dead_letters_url, settings.ingest_queue_url),
    }
    return {name: clients.dead_letters(dead, home) for name, (dead, home) in pairs.items()}
