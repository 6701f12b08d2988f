"""Who may do what in the tenant, and who did: keys, members, the audit trail."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.access import Admin, AnyCaller, Viewer
from parlour.api.schemas import CallerShown, KeyCreated, KeyShown, MemberChange, MemberShown, NewKey, NewMember
from parlour.infra.jsonable import JsonObject
from parlour.tenancy import audit, keys, members, roles
from parlour.tenancy.audit import Entry

router = APIRouter(prefix="/v1", tags=["people"])


@router.get("/me")
def show_me(caller: AnyCaller) -> CallerShown:
    """Whom the credentials are good for, and what they may do: what a page offers, it offers by this."""
    who = caller.principal
    held = [role for role in sorted(roles.ROLES) if who.has(role)]
    tenant = caller.signed_in.tenant.slug
    return CallerShown.model_validate({"kind": who.kind, "tenant": tenant, "roles": held, "clearance": who.clearance})


@router.post("/keys", status_code=201)
def create_key(wanted: NewKey, caller: Admin) -> KeyCreated:
    """Make an API key; its text is in this answer and nowhere else."""
    with caller.transaction() as tx:
        created = keys.create(
            caller.principal, tx, name=wanted.name, roles=wanted.roles, clearance=wanted.clearance,
            now=caller.now, new_id=caller.services.new_id,
        )  # fmt: skip
    return KeyCreated(**KeyShown.model_validate(created.key).model_dump(), key=created.text)


@router.get("/keys")
def list_keys(caller: Admin) -> dict[str, list[KeyShown]]:
    """The tenant's API keys, revoked ones too, newest first."""
    with caller.transaction() as tx:
        return {"keys": [KeyShown.model_validate(key) for key in keys.all_of(caller.principal, tx)]}


@router.delete("/keys/{key_id}")
def revoke_key(key_id: UUID, caller: Admin) -> KeyShown:
    """End a key at once."""
    with caller.transaction() as tx:
        key = keys.revoke(caller.principal, tx, key_id, caller.now, caller.services.new_id)
    return KeyShown.model_validate(key)


@router.post("/members", status_code=201)
def add_member(wanted: NewMember, caller: Admin) -> MemberShown:
    """Let somebody sign in with their OIDC token."""
    with caller.transaction() as tx:
        member = members.add(
            caller.principal, tx, **wanted.model_dump(), now=caller.now, new_id=caller.services.new_id
        )  # fmt: skip
    return MemberShown.model_validate(member)


@router.get("/members")
def list_members(caller: Admin) -> dict[str, list[MemberShown]]:
    """Everybody of the tenant."""
    with caller.transaction() as tx:
        return {"members": [MemberShown.model_validate(member) for member in members.all_of(caller.principal, tx)]}


@router.put("/members/{member_id}")
def change_member(member_id: UUID, change: MemberChange, caller: Admin) -> MemberShown:
    """Set what a member may do from their next request on."""
    with caller.transaction() as tx:
        member = members.change(
            caller.principal, tx, member_id, **change.model_dump(), now=caller.now, new_id=caller.services.new_id
        )
    return MemberShown.model_validate(member)


@router.get("/audit")
def list_audit(caller: Viewer, most: Annotated[int, Query(ge=1, le=200)] = 50) -> JsonObject:
    """The latest administrative acts, newest first."""
    with caller.transaction() as tx:
        return {"entries": [_entry(entry) for entry in audit.recent(caller.principal, tx, most)]}


def _entry(entry: Entry) -> JsonObject:
    return {
        "id": str(entry.id),
        "actor": entry.actor,
        "action": entry.action,
        "target": entry.target,
        "details": entry.details,
        "at": entry.at.isoformat(),
    }
