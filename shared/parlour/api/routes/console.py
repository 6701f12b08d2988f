"""The console's page and what it has to know before it can begin; and whether the API is there at all."""

from pathlib import Path
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

from parlour.api.authorization import AppDependencies
from parlour.api.configuration_schemas import (
    AttachmentRulesView,
    ConsoleAgentView,
    ConsoleSettingsView,
    HealthView,
    SignInView,
)
from parlour.api.event_stream import is_response_buffered
from parlour.conversations.attachment_uploads import RULES
from parlour.infra.errors import NotFound
from parlour.infra.postgres import Database
from parlour.models.demo_scenes import DEMO_SETTING
from parlour.tenancy import bindings, routing_keys, tenants
from parlour.tenancy.bindings import Binding
from parlour.tenancy.routing_keys import RoutePolicy, RoutingKey
from parlour.tenancy.tenants import Tenant

router = APIRouter(tags=["console"])


class ConsoleFiles(StaticFiles):
    """The built console. A build that is missing is a 404 that says so, and is looked for again at the next request."""

    def __init__(self, folder: Path) -> None:
        """Serve `folder`, which need not exist yet."""
        super().__init__(directory=folder, html=True, check_dir=False)
        self._start_page = folder / "index.html"

    async def check_config(self) -> None:
        """Check that there is a build. Raises NotFound when there is none."""
        if not self._start_page.is_file():
            raise NotFound("The console is not built: run `make console`.")


CONSOLE_FOLDER = Path(__file__).parents[1] / "console"


def console_files() -> StaticFiles:
    """Return the console's files."""
    return ConsoleFiles(CONSOLE_FOLDER)


@router.get("/v1/health")
def get_health() -> HealthView:
    """Return that the API answers. The database is not asked, so that a paused one stays paused."""
    return HealthView()


@router.get("/", include_in_schema=False)
def redirect_to_page(request: Request, services: AppDependencies) -> RedirectResponse:
    """Return the way to the chat at an agent's own host, else to the console; relative, below a stage's prefix."""
    with services.databases.borrow() as database:
        route = _find_host(database, request, services.route_policy)
    return RedirectResponse("console/chat.html" if route else "console/")


@router.get("/console", include_in_schema=False)
def redirect_to_console() -> RedirectResponse:
    """Return the way to the console; relative, below a stage's prefix."""
    return RedirectResponse("console/")


@router.get("/console/settings.json")
def get_console_settings(request: Request, services: AppDependencies) -> ConsoleSettingsView:
    """Whom a visitor can talk to at this address, and how replies can be followed.

    An agent's own host offers that agent alone.
    """
    with services.databases.borrow() as database:
        route = _find_host(database, request, services.route_policy)
        owner = _get_tenant(database, route.tenant_id) if route else None
        shown = () if owner else services.showcase_tenants
        found = [owner] if owner else list(filter(None, (tenants.find_tenant_by_slug(database, one) for one in shown)))
        offered = [
            agent_view(tenant, binding)
            for tenant in found
            for binding in _list_public_bindings(database, tenant)
            if route is None or binding.id == route.binding_id
        ]
    laptop_model = services.laptop_model
    return ConsoleSettingsView(
        environment=services.environment,
        local=services.is_local,
        model="offline" if laptop_model == "demo" else laptop_model or None,
        demo_tenants=[tenant.slug for tenant in found if laptop_model == "demo" and tenant.settings.get(DEMO_SETTING)],
        stream=not is_response_buffered(request),
        attachments=AttachmentRulesView.model_validate(RULES),
        sign_in=[SignInView.model_validate(one) for one in services.sign_ins],
        bindings=offered,
        is_agent_host=route is not None,
    )


def _find_host(database: Database, request: Request, policy: RoutePolicy) -> RoutingKey | None:
    key = routing_keys.web_key(request.headers.get("host", ""))
    if policy.is_own_host(key):
        return None
    with database.transaction(None) as tx:
        return routing_keys.find_routing_key(tx, key)


def _get_tenant(database: Database, tenant_id: UUID) -> Tenant | None:
    with database.transaction(tenant_id) as tx:
        return tenants.find_own_tenant(tx)


def _list_public_bindings(database: Database, tenant: Tenant) -> list[Binding]:
    if tenant.status == "archived":
        return []
    with database.transaction(tenant.tenant_id) as tx:
        return [binding for binding in bindings.list_active_bindings(tx) if binding.is_open_to_visitors]


def agent_view(tenant: Tenant, binding: Binding) -> ConsoleAgentView:
    """Return what chat pages show of an agent."""
    channel = binding.channels.get("web")
    web = channel if isinstance(channel, dict) else {}
    samples = web.get("samples")
    return ConsoleAgentView(
        tenant=tenant.slug,
        slug=binding.slug,
        name=binding.display_name,
        greeting=binding.greeting,
        channels=sorted(binding.channels),
        samples=[sample for sample in samples if isinstance(sample, str)] if isinstance(samples, list) else [],
        face=str(web.get("face") or ""),
        colour=str(web.get("colour") or ""),
    )
