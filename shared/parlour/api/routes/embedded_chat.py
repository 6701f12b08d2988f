"""The chat inside pages of other hosts: its page for a frame, and what its widget reads.

Both name one binding and are open to the pages of its `embed_hosts` only: the page by `frame-ancestors`, the
settings by CORS. The frame's own calls come from its page, so no other route answers a foreign origin.
"""

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import FileResponse

from parlour.api.authorization import AppDependencies, RequestCredentials
from parlour.api.configuration_schemas import ConsoleAgentView
from parlour.api.dependencies import ApiDependencies
from parlour.api.middleware import allow_embedding
from parlour.api.routes.console import CONSOLE_FOLDER, agent_view
from parlour.infra.errors import Forbidden, InvalidRequest, NotFound, Unauthenticated
from parlour.infra.postgres import Database
from parlour.tenancy import bindings, tenants
from parlour.tenancy.authentication import Credentials, act_as_user
from parlour.tenancy.bindings import Binding
from parlour.tenancy.embed_hosts import list_embed_origins
from parlour.tenancy.tenants import Tenant

router = APIRouter(tags=["console"])

type _Slug = Annotated[str, Path(max_length=63)]

_PAGE = CONSOLE_FOLDER / "embed.html"


@router.get("/console/embed.html", include_in_schema=False)
def get_embedded_page(
    request: Request, services: AppDependencies, agent: Annotated[str, Query(max_length=128)] = ""
) -> FileResponse:
    """Return the chat page of `agent`, as tenant/binding, for a frame in a page of its embed hosts."""
    slug, _, binding_slug = agent.partition("/")
    _, binding = _find_agent(services, slug, binding_slug)
    if not _PAGE.is_file():
        raise NotFound("The console is not built: run `make console`.")
    allow_embedding(request.scope, list_embed_origins(binding.channels))
    return FileResponse(_PAGE)


@router.get("/console/agents/{tenant}/{binding}")
def get_public_agent(
    request: Request,
    response: Response,
    services: AppDependencies,
    given: RequestCredentials,
    tenant: _Slug,
    binding: _Slug,
) -> ConsoleAgentView:
    """Return what chat pages show of an agent. Pages of other hosts read it if the pack lists their host.

    A private agent is shown to its owner, who signed in as a member.
    """
    owner, found = _find_agent(services, tenant, binding, given)
    origin = request.headers.get("origin")
    response.headers["Vary"] = "Origin"
    if origin is not None:
        if origin not in list_embed_origins(found.channels):
            raise Forbidden("this page's host may not embed the agent; add it to `embed_hosts` of the binding's pack")
        response.headers["Access-Control-Allow-Origin"] = origin
    return agent_view(owner, found)


def _find_agent(
    services: ApiDependencies, tenant_slug: str, binding_slug: str, given: Credentials | None = None
) -> tuple[Tenant, Binding]:
    """Return the agent. Raises NotFound when there is none that visitors, or who signed in, can talk to on the web."""
    with services.databases.borrow() as database:
        tenant = tenants.find_tenant_by_slug(database, tenant_slug)
        if tenant and tenant.status != "archived":
            with database.transaction(tenant.tenant_id) as tx:
                binding = bindings.find_binding_by_slug(tx, binding_slug)
            if binding and (binding.is_open_to_visitors or _is_owner(services, database, tenant, binding, given)):
                return tenant, binding
    raise NotFound("no public agent has that name; name it as tenant/binding, such as northbank/site-desk")


def _is_owner(
    services: ApiDependencies, database: Database, tenant: Tenant, binding: Binding, given: Credentials | None
) -> bool:
    """Whether a member signed in to whom the agent's private door is open on the web.

    Whatever is wrong with the credentials, the answer is that of an agent that is not there.
    """
    if given is None or not given.authorization or "web" not in binding.channels:
        return False
    now = services.clock()
    with suppress(Unauthenticated, Forbidden, InvalidRequest, NotFound):
        known = services.authenticator.authenticate(given, database, now)
        act_as_user(known, binding.slug, database, now)
        return known.tenant.tenant_id == tenant.tenant_id
    return False
