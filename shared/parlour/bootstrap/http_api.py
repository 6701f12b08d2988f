"""REST and the console."""

import functools
from collections.abc import Mapping
from datetime import UTC, datetime

from fastapi import FastAPI

from parlour.api.app import create_app
from parlour.api.database_pool import Application, DatabasePool, close_after_responses
from parlour.api.dependencies import ApiDependencies
from parlour.bootstrap import clients
from parlour.bootstrap.challenge import make_challenge_check
from parlour.bootstrap.database import make_database
from parlour.bootstrap.embedding_models import make_embedding_spaces
from parlour.bootstrap.tool_endpoints import make_outside_endpoints
from parlour.channels import provider_http
from parlour.infra.settings import HttpApiSettings, ToolSettings, load_settings
from parlour.jobs.dead_letters import DeadLetters
from parlour.tenancy import oidc
from parlour.tenancy.authentication import Authenticator
from parlour.tenancy.json_fetcher import JsonFetcher
from parlour.tenancy.oidc import TrustedIssuers
from parlour.tenancy.routing_keys import RoutePolicy
from parlour.text import token_counter
from parlour.tools.addresses import PrivateHosts

_IDLE_CONNECTIONS = 8
"""A function serves one request at a time and keeps one; under a web server this is how many stay open."""


@functools.cache
def build_http_api(*, local: bool = False, showcase: tuple[str, ...] = (), max_idle: int = 0) -> FastAPI:
    """Build the app.

    local     a phone and a member's token are served beside it, and its tools can be tried.
    showcase  slugs of tenants whose public agents the console offers.
    max_idle  connections that stay open where the database is to pause.
    """
    settings = load_settings(HttpApiSettings)
    secrets = clients.make_secret_store()
    trusted = oidc.parse_issuers(settings.oidc_issuers)
    client = provider_http.new_client()
    sign_ins = oidc.parse_sign_ins(trusted, settings.oidc_client_id, settings.oidc_token_origins)
    issuers = TrustedIssuers(trusted, settings.oidc_audience, JsonFetcher(), sign_ins)
    services = ApiDependencies(
        databases=DatabasePool(
            lambda: make_database(settings, secrets), max_idle=max_idle if settings.database_idle else _IDLE_CONNECTIONS
        ),
        authenticator=Authenticator(
            issuers,
            token_secret=lambda: secrets.get(settings.token_secret),
            operator_secret=lambda: secrets.get(settings.operator_secret),
            operators=oidc.parse_operators(settings.operators),
            allows_operator_key=settings.allow_operator_key,
        ),
        turns_web_queue=clients.make_checked_queue(settings.turns_web_queue_url, settings.wakeups_queue_url),
        turns_messaging_queue=clients.make_checked_queue(
            settings.turns_messaging_queue_url, settings.wakeups_queue_url
        ),
        tools_queue=clients.make_checked_queue(settings.tools_queue_url, settings.wakeups_queue_url),
        outbox_queue=clients.make_checked_queue(settings.outbox_queue_url, settings.wakeups_queue_url),
        embedder_queue=clients.make_delayed_queue(settings.embedding_queue_url),
        ingest_queue=clients.make_fifo_queue(settings.ingest_queue_url),
        wakeup_queue=clients.make_delayed_queue(settings.wakeups_queue_url),
        pulse_queue=clients.make_delayed_queue(settings.pulse_queue_url),
        upload_bucket=clients.make_upload_store(settings.files_bucket),
        media_bucket=clients.make_upload_store(settings.media_bucket),
        dead_letters=_make_dead_letters(settings),
        token_secret=lambda: secrets.get(settings.token_secret),
        default_daily_cap=settings.daily_cap_usd,
        default_pulse_cap=settings.pulse_daily_cap_usd,
        embedding_spaces=make_embedding_spaces(settings, secrets),
        clock=lambda: datetime.now(UTC),
        find_secret_status=secrets.find_status,
        locate_secret=secrets.locate,
        providers={
            name: functools.partial(provider_http.require_reachable, client, url)
            for name, url in (("gupshup", settings.gupshup_base_url), ("whatsapp_cloud", settings.whatsapp_base_url))
        },
        count_tokens=token_counter.count_tokens,
        check_challenge=make_challenge_check(
            settings.challenge_verify_url, lambda: secrets.get(settings.challenge_secret)
        ),
        environment=settings.environment,
        is_local=local,
        private_hosts=PrivateHosts.parse(settings.private_tool_hosts),
        tool_endpoints=make_outside_endpoints(load_settings(ToolSettings), secrets) if local else {},
        route_policy=RoutePolicy(settings.public_url, accepts_all=local),
        laptop_model=settings.laptop_model,
        showcase_tenants=showcase,
        sign_ins=sign_ins,
    )
    return create_app(services)


def build_http_stream() -> Application:
    """Build the app for one response at a time, which looks for events several times a second on one connection.

    Where the database is to pause, the connection is closed after the response.
    """
    app = build_http_api(max_idle=1)
    if not load_settings(HttpApiSettings).database_idle:
        return app
    return close_after_responses(app, app.state.services.databases)


def _make_dead_letters(settings: HttpApiSettings) -> Mapping[str, DeadLetters]:
    """Return every queue's dead letters, by the name that operators call the queue."""
    pairs = {
        "intake": (settings.intake_dead_letters_url, settings.intake_queue_url),
        "turns-messaging": (settings.turns_messaging_dead_letters_url, settings.turns_messaging_queue_url),
        "turns-web": (settings.turns_web_dead_letters_url, settings.turns_web_queue_url),
        "tools": (settings.tools_dead_letters_url, settings.tools_queue_url),
        "outbox": (settings.outbox_dead_letters_url, settings.outbox_queue_url),
        "ingest": (settings.ingest_dead_letters_url, settings.ingest_queue_url),
    }
    return {name: clients.make_dead_letters(dead, home) for name, (dead, home) in pairs.items()}
