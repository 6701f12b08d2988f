"""The console's page and what it has to know before it can begin; and whether the API is there at all."""

from pathlib import Path
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

from parlour.api.access import AnyServices
from parlour.api.routes.sessions import is_buffered
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database
from parlour.tenancy import bindings, routes, tenants
from parlour.tenancy.bindings import Binding
from parlour.tenancy.tenants import Tenant

router = APIRouter(tags=["console"])


def pages() -> StaticFiles:
    """The console's files, as they are."""
    return StaticFiles(directory=Path(__file__).parents[1] / "console", html=True)


@router.get("/v1/health")
def health() -> dict[str, str]:
    """That the API answers. The database is left alone, so that asking does not keep a pausing one awake."""
    return {"status": "ok"}


@router.get("/", include_in_schema=False)
@router.get("/console", include_in_schema=False)
def to_console() -> RedirectResponse:
    """Relative, so that a stage's prefix in front of the path stays where it is."""
    return RedirectResponse("console/")


@router.get("/console/settings.json")
def settings(request: Request, services: AnyServices) -> JsonObject:
    """Whom a visitor can talk to at this address, and how replies can be followed."""
    with services.connections.rent() as database:
        here = _tenants_at(database, request.headers.get("host", ""))
        shown = [slug for slug in services.showcase if slug not in {tenant.slug for tenant in here}]
        found = [*here, *filter(None, (tenants.by_slug(database, slug) for slug in shown))]
        offered = [_offer(tenant, binding) for tenant in found for binding in _public(database, tenant)]
    return {
        "environment": services.environment,
        "local": services.local,
        "stream": not is_buffered(request),
        "bindings": [*offered],
    }


def _tenants_at(database: Database, host: str) -> list[Tenant]:
    """The tenant that the console's own address leads to, if it leads to one."""
    with database.transaction(None) as tx:
        route = routes.resolve(tx, routes.web_key(host))
    tenant = _tenant(database, route.tenant_id) if route else None
    return [tenant] if tenant else []


def _tenant(database: Database, tenant_id: UUID) -> Tenant | None:
    with database.transaction(tenant_id) as tx:
        return tenants.get(tx)


def _public(database: Database, tenant: Tenant) -> list[Binding]:
    if tenant.status == "archived":
        return []
    with database.transaction(tenant.tenant_id) as tx:
        return [binding for binding in bindings.list_active(tx) if binding.open_to_visitors]


def _offer(tenant: Tenant, binding: Binding) -> JsonObject:
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
