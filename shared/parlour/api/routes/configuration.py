"""The tenant's configuration: its pack, its agents, its status."""

from datetime import datetime

from fastapi import APIRouter

from parlour.api.access import Admin, AnyServices, GivenCredentials, Viewer, embed_soon
from parlour.api.edge import PACK_BYTES
from parlour.api.schemas import BindingShown, PackFiles, StatusChange, TenantShown
from parlour.api.services import Services
from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database
from parlour.packs.apply import apply
from parlour.packs.export import export
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.tenancy import bindings, roles, tenants
from parlour.tenancy.bindings import Binding
from parlour.tenancy.sign_in import Credentials

router = APIRouter(prefix="/v1", tags=["configuration"])


@router.put("/pack", max_body_size=PACK_BYTES)
def put_pack(pack: PackFiles, services: AnyServices, given: GivenCredentials) -> JsonObject:
    """Apply a pack, in one transaction; twice changes nothing. The operator's key makes a tenant that is not there."""
    now = services.clock()
    with services.connections.rent() as database:
        principal = _applier(services, database, given, now)
        roles.require(principal, "admin")
        read = validate(pack.files)
        if given.tenant not in {"", read.tenant.slug}:
            raise InvalidRequest(f"this is the pack of {read.tenant.slug}; name that tenant, or send its own pack")
        embedder = services.spaces.embedder(database, principal.tenant_id)
        done = apply(principal, database, embedder, read, now, services.new_id, services.measure)
    embed_soon(services, principal.tenant_id)
    return done.to_json()


@router.get("/pack")
def get_pack(caller: Admin) -> dict[str, dict[str, str]]:
    """The tenant's configuration as a pack that, applied, changes nothing."""
    with caller.services.connections.rent() as database:
        return {"files": export(caller.principal, database)}


@router.get("/bindings")
def list_bindings(caller: Viewer) -> dict[str, list[BindingShown]]:
    """The agents that are switched on."""
    with caller.transaction() as tx:
        return {"bindings": [_shown(binding) for binding in bindings.list_active(tx)]}


@router.get("/tenant")
def get_tenant(caller: Viewer) -> TenantShown:
    """The tenant that the caller acts in."""
    return TenantShown.model_validate(caller.signed_in.tenant)


@router.put("/tenant/status")
def put_status(change: StatusChange, caller: Admin) -> TenantShown:
    """Pause, resume or close the tenant."""
    with caller.transaction() as tx:
        tenant = tenants.set_status(caller.principal, tx, change.status, caller.now, caller.services.new_id)
    return TenantShown.model_validate(tenant)


def _applier(services: Services, database: Database, given: Credentials, now: datetime) -> Principal:
    """Who applies: somebody signed in, or the operator as the tenant that the pack is about to make."""
    try:
        return services.sign_in.authenticate(given, database, now).principal
    except NotFound:  # told to the operator only: there is no tenant of that name so far
        return roles.operator(services.new_id(now))


def _shown(binding: Binding) -> BindingShown:
    return BindingShown(
        id=binding.id,
        slug=binding.slug,
        display_name=binding.display_name,
        door=binding.door,
        channels=sorted(binding.channels),
        clearance=binding.clearance,
        greeting=binding.greeting,
        version=binding.version,
    )
