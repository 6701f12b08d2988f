"""The tenant's configuration: its pack, its agents, its status."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from fastapi import APIRouter

from parlour.api import pack_views
from parlour.api.authorization import Admin, AppDependencies, Caller, RequestCredentials, Viewer, request_embedding
from parlour.api.configuration_schemas import (
    BindingListView,
    BindingView,
    PackAppliedView,
    PackFiles,
    PackPrune,
    PackPrunedView,
    PackStatusView,
    PackUndo,
    PackUndoneView,
    PackView,
    RouteAcceptance,
    RouteListView,
    RouteView,
    SecretListView,
    SecretView,
    StatusChange,
    TenantView,
)
from parlour.api.dependencies import ApiDependencies
from parlour.api.middleware import MAX_PACK_BYTES
from parlour.infra.errors import InvalidRequest, NotFound, SecretUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.infra.secrets import SecretStatus
from parlour.packs.apply import ApplyOptions, apply
from parlour.packs.date_shift import validate_on
from parlour.packs.export import export
from parlour.packs.merge import Decisions
from parlour.packs.prune import prune_pack
from parlour.packs.status import read_status
from parlour.packs.undo import undo_apply
from parlour.principal import Principal
from parlour.tenancy import bindings, roles, routing_keys, tenant_secrets, tenants, users
from parlour.tenancy.authentication import Credentials
from parlour.tenancy.bindings import Binding

router = APIRouter(prefix="/v1", tags=["configuration"])


@router.put("/pack", max_body_size=MAX_PACK_BYTES)
def apply_pack(pack: PackFiles, services: AppDependencies, given: RequestCredentials) -> PackAppliedView:
    """Apply a pack, in one transaction; twice changes nothing. What people changed stays, unless the request decides
    otherwise. The operator's key makes a tenant that is not there."""
    now = services.clock()
    choices = {(one.item, one.field): one.choice for one in pack.decisions}
    options = ApplyOptions(
        Decisions(pack.conflicts, choices),
        prune=pack.prune,
        dry_run=pack.dry_run,
        routes=services.route_policy,
        private_hosts=services.private_hosts,
    )
    with services.databases.borrow() as database:
        principal = _authenticate_applier(services, database, given, now)
        roles.require_role(principal, "admin")
        read = validate_on(pack.files, now.date())
        if given.tenant not in {"", read.tenant.slug}:
            raise InvalidRequest(
                f"this pack is for tenant '{read.tenant.slug}'; run: parlour --tenant {read.tenant.slug} apply ..."
            )
        embedder = services.embedding_spaces.tenant_embedder(database, principal.tenant_id)
        done = apply(principal, database, embedder, read, now, services.count_tokens, options)
    if not pack.dry_run:
        request_embedding(services, principal.tenant_id)
    return pack_views.applied_view(done, dry_run=pack.dry_run)


@router.post("/pack/undo")
def undo_pack(undo: PackUndo, caller: Admin) -> PackUndoneView:
    """Undo the last apply that was not undone. What was changed since stays and is listed."""
    services, tenant_id = caller.dependencies, caller.principal.tenant_id
    with services.databases.borrow() as database:
        embedder = services.embedding_spaces.tenant_embedder(database, tenant_id)
        done = undo_apply(caller.principal, database, embedder, caller.now, dry_run=undo.dry_run)
    if not undo.dry_run:
        request_embedding(services, tenant_id)
    return pack_views.undone_view(done, dry_run=undo.dry_run)


@router.get("/pack/status")
def get_pack_status(caller: Admin) -> PackStatusView:
    """Return which packs were applied when and by whom, what people changed since, and what left the pack."""
    with caller.dependencies.databases.borrow() as database:
        return pack_views.status_view(read_status(caller.principal, database))


@router.post("/pack/prune")
def prune_left_items(prune: PackPrune, caller: Admin) -> PackPrunedView:
    """Delete what left the pack. What people changed since, and what is in use, stays and is listed."""
    services, tenant_id = caller.dependencies, caller.principal.tenant_id
    with services.databases.borrow() as database:
        embedder = services.embedding_spaces.tenant_embedder(database, tenant_id)
        done = prune_pack(caller.principal, database, embedder, caller.now, dry_run=prune.dry_run)
    return pack_views.pruned_view(done, dry_run=prune.dry_run)


@router.get("/pack")
def get_pack(caller: Admin) -> PackView:
    """Return the tenant's configuration as a pack that, applied, changes nothing."""
    with caller.dependencies.databases.borrow() as database:
        return PackView(files=export(caller.principal, database))


@router.get("/bindings")
def list_bindings(caller: Viewer) -> BindingListView:
    """List the active agents."""
    with caller.transaction() as tx:
        found = bindings.list_active_bindings(tx)
        private = [binding for binding in found if binding.door == "private" and "web" in binding.channels]
        own = _find_own_bindings(caller, tx, private)
    shown = []
    for binding in found:
        is_open = binding.is_open_to_visitors or binding.id in own
        shown.append(BindingView.model_validate(binding).model_copy(update={"is_open_to_caller": is_open}))
    return BindingListView(bindings=shown)


def _find_own_bindings(caller: Caller, tx: Transaction, private: Sequence[Binding]) -> set[UUID]:
    """Return the private bindings that answer the member who asks."""
    if not private or caller.principal.kind != "member":
        return set()
    user_id = users.find_or_create_member_user(caller.principal, tx, caller.now)
    return {binding.id for binding in private if users.load_access(tx, user_id, binding.id).is_admitted}


@router.get("/routes")
def list_routes(caller: Viewer) -> RouteListView:
    """List the hosts and numbers that lead to the tenant, and those that wait for the operator."""
    with caller.transaction() as tx:
        slugs = {binding.id: binding.slug for binding in bindings.list_active_bindings(tx)}
        active = [
            RouteView(key=route.key, binding=slugs.get(route.binding_id, ""), state="active")
            for route in routing_keys.list_own_keys(tx)
            if route.binding_id
        ]
        waiting = [
            RouteView(key=claim.key, binding=claim.binding, state="waiting")
            for claim in routing_keys.list_waiting_claims(tx)
        ]
    return RouteListView(routes=[*waiting, *active])


@router.post("/routes/accept")
def accept_route(wanted: RouteAcceptance, caller: Admin) -> RouteView:
    """Let a host or number that waits lead to the tenant. Only the operator may, after a look at whose it is."""
    with caller.transaction() as tx:
        claim = routing_keys.accept_claim(
            caller.principal,
            tx,
            wanted.key,
            caller.dependencies.route_policy,
            caller.now,
            ends_reservation=wanted.end_reservation,
        )
    return RouteView(key=claim.key, binding=claim.binding, state="active")


@router.get("/secrets")
def list_secrets(caller: Viewer) -> SecretListView:
    """List the secrets that the tenant's pack names, what uses them, and whether each is stored. Shows no value."""
    with caller.transaction() as tx:
        found = tenant_secrets.list_secrets(caller.principal, tx)
    return SecretListView(
        secrets=[
            SecretView(
                name=secret.name,
                reference=caller.dependencies.locate_secret(secret.reference),
                used_by=secret.used_by,
                status=_find_secret_status(caller.dependencies, secret.reference),
            )
            for secret in found
        ]
    )


def _find_secret_status(services: ApiDependencies, reference: str) -> SecretStatus | Literal["unknown"]:
    try:
        return services.find_secret_status(reference)
    except SecretUnavailable:
        return "unknown"


@router.get("/tenant")
def get_tenant(caller: Viewer) -> TenantView:
    """Return the tenant that the caller acts in."""
    return TenantView.model_validate(caller.signed_in.tenant)


@router.put("/tenant/status")
def set_tenant_status(change: StatusChange, caller: Admin) -> TenantView:
    """Pause, resume or close the tenant."""
    with caller.transaction() as tx:
        tenant = tenants.set_tenant_status(caller.principal, tx, change.status, caller.now)
    return TenantView.model_validate(tenant)


def _authenticate_applier(
    services: ApiDependencies, database: Database, given: Credentials, now: datetime
) -> Principal:
    """Who applies: somebody signed in, or the operator as the tenant that the pack is about to make."""
    try:
        return services.authenticator.authenticate(given, database, now).principal
    except NotFound:  # told to the operator only: there is no tenant of that name so far
        return roles.operator_principal(uuid7(now), services.authenticator.find_operator(given, now) or "")
