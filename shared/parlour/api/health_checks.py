"""What a deployment finds out about itself: `parlour doctor` shows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from parlour.api.dependencies import ApiDependencies
from parlour.api.operation_schemas import HealthCheckView
from parlour.infra import schema_version
from parlour.infra.errors import ParlourError, RetryError
from parlour.jobs import work_due
from parlour.tenancy import routing_keys

_OVERDUE_AFTER = timedelta(minutes=15)
"""The sweep runs every five minutes and starts what is due; older work means that it does not."""

_MAX_NAMED = 5
"""Hosts and numbers that a check names."""


@dataclass(frozen=True, slots=True)
class _Check:
    """A check: its name, what to do when it fails, and what finds out. `find` raises ParlourError when it fails."""

    name: str
    what_to_do: str
    find: Callable[[], str]


class _NeedsAttention(ParlourError):
    """The deployment works, and somebody should look."""


def run_checks(services: ApiDependencies) -> list[HealthCheckView]:
    """Return the result of every check. No check changes anything."""
    return [_run_check(check) for check in _list_checks(services)]


def _list_checks(services: ApiDependencies) -> Sequence[_Check]:
    return [
        _Check(
            "database schema",
            "Run the migrations: `make deploy` does, and `make run` on a laptop.",
            lambda: _find_schema(services),
        ),
        _Check(
            "overdue work",
            "Check the sweep function, its schedule and its log.",
            lambda: _find_overdue_work(services, services.clock()),
        ),
        *(
            _Check(
                f"queue {name}",
                f"Find the cause in the log, then run `parlour redrive --queue {name}`.",
                lambda name=name: _find_dead_letters(services, name),  # type: ignore[misc]
            )
            for name in services.dead_letters
        ),
        _Check(
            "hosts and numbers",
            "See whose they are, then run `parlour --tenant TENANT routes accept KEY`.",
            lambda: _find_waiting_routes(services),
        ),
        _Check(
            "operator's key",
            "Name the operators in the parameter Operators; then take AllowOperatorKey away.",
            lambda: _find_operator_key(services),
        ),
        _Check(
            "signing key",
            "Store the secret that TOKEN_SECRET names.",
            lambda: _find_signing_key(services),
        ),
        _Check(
            "embeddings",
            "Check EMBEDDING_URL and EMBEDDING_MODEL, or the access to the model in Bedrock.",
            lambda: _find_embeddings(services),
        ),
        *(
            _Check(
                f"provider {name}",
                "Check the network of the functions and the provider's status page.",
                lambda require_reachable=require_reachable: _find_provider(require_reachable),  # type: ignore[misc]
            )
            for name, require_reachable in services.providers.items()
        ),
    ]


def _run_check(check: _Check) -> HealthCheckView:
    try:
        return HealthCheckView(name=check.name, status="ok", found=check.find(), what_to_do="")
    except _NeedsAttention as problem:
        return HealthCheckView(name=check.name, status="warning", found=str(problem), what_to_do=check.what_to_do)
    except ParlourError as problem:
        return HealthCheckView(name=check.name, status="failed", found=str(problem), what_to_do=check.what_to_do)


def _find_schema(services: ApiDependencies) -> str:
    with services.databases.borrow() as database:
        missing = schema_version.list_missing_migrations(database)
    if missing:
        raise RetryError(f"migrations are missing: {', '.join(missing)}")
    return "every migration of this release is applied"


def _find_overdue_work(services: ApiDependencies, now: datetime) -> str:
    with services.databases.borrow() as database, database.transaction(None) as tx:
        overdue = work_due.list_overdue(tx, now - _OVERDUE_AFTER, 1)
    if overdue:
        minutes = (now - overdue[0].due_at) // timedelta(minutes=1)
        raise _NeedsAttention(f"work of the kind {overdue[0].kind} is overdue for {minutes} minutes")
    return "nothing is overdue"


def _find_dead_letters(services: ApiDependencies, name: str) -> str:
    count = services.dead_letters[name].count()
    if count:
        raise _NeedsAttention(f"{count} dead letter{'' if count == 1 else 's'}")
    return "no dead letters"


def _find_waiting_routes(services: ApiDependencies) -> str:
    with services.databases.borrow() as database, database.transaction(None) as tx:
        waiting = routing_keys.list_waiting_routes(tx, _MAX_NAMED + 1)
    if waiting:
        named = ", ".join(f"{route.key} ({route.slug})" for route in waiting[:_MAX_NAMED])
        raise _NeedsAttention(f"waiting to be accepted: {named}{', ...' if len(waiting) > _MAX_NAMED else ''}")
    return "none waits to be accepted"


def _find_operator_key(services: ApiDependencies) -> str:
    if services.authenticator.accepts_operator_key and not services.is_local:
        raise _NeedsAttention("it signs in, to every tenant, from any address and without a name")
    return "it signs in on a laptop only" if services.is_local else "it signs nobody in"


def _find_signing_key(services: ApiDependencies) -> str:
    services.token_secret()
    return "it can be read"


def _find_embeddings(services: ApiDependencies) -> str:
    for name in services.embedding_spaces.space_names:
        services.embedding_spaces.priced_embedder(name).embedder.embed(["health"])
    return ", ".join(services.embedding_spaces.space_names)


def _find_provider(require_reachable: Callable[[], None]) -> str:
    require_reachable()
    return "it answers"
