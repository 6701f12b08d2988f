"""The console's page and what it has to know before it can begin; and whether the API is there at all."""

from dataclasses import asdict
from pathlib import Path
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

from parlour.api.authorization import AppDependencies
from parlour.api.routes.sessions import is_response_buffered
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.tenancy import bindings, routing_keys, tenants
from parlour.tenancy.bindings import Binding
from parlour.tenancy.tenants import Tenant

router = APIRouter(tags=["console"])


def console_files() -> StaticFiles:
    """Return the console's files."""
    return StaticFiles(directory=Path(__file__).parents[1] / "console", html=True)


@router.get("/v1/health")
def health() -> dict[str, str]:
    """Return that the API answers. The database is not asked, so that a paused one stays paused."""
    return {"status": "ok"}


@router.get("/", include_in_schema=False)
@router.get("/console", include_in_schema=False)
def redirect_to_console() -> RedirectResponse:
    """Relative, so that a stage's prefix in front of the path stays where it is."""
    return RedirectResponse("console/")


@router.get("/console/settings.json")
def get_console_settings(request: Request, services: AppDependencies) -> JsonObject:
    """Whom a visitor can talk to at this address, and how replies can be followed."""
    with services.databases.borrow() as database:
        with database.transaction(None) as tx:
            route = routing_keys.find_routing_key(tx, routing_keys.web_key(request.headers.get("host", "")))
        tenant = _get_tenant(database, route.tenant_id) if route else None
        here = [tenant] if tenant else []
        shown = [slug for slug in services.showcase_tenants if slug not in {tenant.slug for tenant in here}]
        found = [*here, *filter(None, (tenants.find_tenant_by_slug(database, slug) for slug in shown))]
        offered = [
            _agent_json(tenant, binding) for tenant in found for binding in _list_public_bindings(database, tenant)
        ]
    return {
        "environment": services.environment,
        "local": services.is_local,
        "stream": not is_response_buffered(request),
        "sign_in": [asdict(one) for one in services.sign_ins],
        "bindings": [*offered],
    }


def _get_tenant(database: Database, tenant_id: UUID) -> Tenant | None:
    with database.transaction(tenant_id) as tx:
        return tenants.find_own_tenant(tx)


def _list_public_bindings(database: Database, tenant: Tenant) -> list[Binding]:
    if tenant.status == "archived":
        return []
    with database.transaction(tenant.tenant_id) as tx:
        return [binding for binding in bindings.list_active_bindings(tx) if binding.is_open_to_visitors]


def _agent_json(tenant: Tenant, binding: Binding) -> JsonObject:
    web = binding.channels.get("web")
    samples = web.get("samples") if isinstance(web, dict) else None
    return {
        "tenant": tenant.slug,
        "slug": binding.slug,
        "name": binding.display_name,
        "greeting": binding.greeting,
        "channels": [*sorted(binding.channels)],
        "samples": samples if isinstance(samples, list) else [],
    }
