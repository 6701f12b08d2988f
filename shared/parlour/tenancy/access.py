"""What one person may do through one binding: computed by code, from rows that are read for each turn. Pure.

Nothing else decides access. Whoever carries out an act checks the principal that comes out of here.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from parlour.infra.json_values import Json, JsonObject
from parlour.principal import Principal, WriteRights
from parlour.tenancy.limits import DEFAULT_LIMITS, Limits
from parlour.tenancy.persona import Binding
from parlour.tenancy.rows import User

type Identification = Literal["anonymous", "verified", "member"]
"""Who somebody is to the tenant: anybody with a browser; the holder of a phone number or account that a channel
verified; a member of the tenant who signed in."""

DEFAULT_WRITES: Mapping[str, WriteRights] = {"anonymous": "none", "verified": "own"}
"""What people may change where their binding does not say."""

PHONE_ROLES_SETTING = "phone_roles"
"""The tenant's setting that says which of their roles members have on a linked phone."""

type PhoneRole = Literal["viewer", "editor"]
"""A role that a member may have on a phone."""

DEFAULT_PHONE_ROLES: tuple[PhoneRole, ...] = ("viewer",)
"""Those roles where the pack does not say. A phone is lent, lost and read over a shoulder; nobody signs in there."""

_RIGHTS: tuple[WriteRights, ...] = ("none", "own", "all")


@dataclass(frozen=True, slots=True)
class Access:
    """What one person may do through one binding.

    principal       who acts, with clearance, roles and the rights to write of a tool without rights of its own.
    is_admitted     whether the door is open to them.
    limits          how much they may ask for.
    token_epoch     what their new tokens carry.
    tool_writes     the rights to write of single tools, by the tool's name.
    """

    principal: Principal
    identification: Identification
    is_admitted: bool
    tool_writes: Mapping[str, WriteRights] = field(default_factory=dict)
    limits: Limits = DEFAULT_LIMITS
    token_epoch: int = 0

    def principal_for(self, tool_name: str) -> Principal:
        """Return the principal that a tool acts for."""
        return replace(self.principal, writes=self.tool_writes.get(tool_name, self.principal.writes))


def compute_access(
    user: User, binding: Binding, *, can_act: bool = True, phone_roles: Collection[str] | None = None
) -> Access:
    """Return what the user may do through the binding; `can_act` is whether its agent may change anything.

    A visitor has the binding's clearance, a user with a clearance of their own that one, a member the member's. A
    member with the role editor may change what they can read, another member as much as somebody verified.

    phone_roles  in a conversation that a phone writes in: the roles that members have at most there; None elsewhere.
    """
    identification = identify(user)
    member = user.member if user.member and user.member["is_active"] else None
    roles = _text_set(member["roles"]) if member else frozenset()
    if phone_roles is not None:
        roles = frozenset(role for role in phone_roles if role != "admin" and roles & {role, "admin"})
    is_editor = bool(roles & {"editor", "admin"})
    principal = Principal(
        tenant_id=user.tenant_id,
        kind="user",
        id=user.id,
        roles=roles,
        clearance=binding.clearance if user.clearance is None else user.clearance,
        writes=_write_rights(binding.writes, identification, is_editor=is_editor) if can_act else "none",
    )
    tool_writes = {
        tool: _write_rights(settings, identification, is_editor=is_editor) if can_act else "none"
        for tool, settings in binding.tool_writes.items()
        if isinstance(settings, dict)
    }
    is_closed_member = user.member is not None and member is None
    return Access(
        principal,
        identification,
        is_admitted=binding.is_active
        and not is_closed_member
        and (binding.door != "private" or is_owner(user, binding)),
        tool_writes=tool_writes,
        limits=Limits.from_settings(binding.limits),
        token_epoch=user.token_epoch,
    )


def get_phone_roles(settings: JsonObject) -> frozenset[str]:
    """Return the roles that members have at most in a conversation that a phone writes in, by a tenant's settings."""
    return _text_set(settings.get(PHONE_ROLES_SETTING, [*DEFAULT_PHONE_ROLES]))


def identify(user: User) -> Identification:
    """Return who the user is to the tenant."""
    if user.member is not None and user.member["is_active"]:
        return "member"
    return "verified" if user.is_verified else "anonymous"


def is_owner(user: User, binding: Binding) -> bool:
    """Whether the user owns a private binding: by a verified phone number, or as a member."""
    owner = binding.owner
    if phone := owner.get("phone"):
        return user.phone == phone
    member = user.member
    return (
        member is not None
        and bool(owner.get("subject"))
        and all(owner.get(name) == member[name] for name in ("issuer", "subject"))
    )


def _write_rights(settings: JsonObject, identification: Identification, *, is_editor: bool) -> WriteRights:
    """Return the rights to write that a binding, or a tool of it, gives."""
    if is_editor:
        return "all"
    kind = "anonymous" if identification == "anonymous" else "verified"
    given = settings.get(kind)
    return next((right for right in _RIGHTS if right == given), DEFAULT_WRITES[kind])


def _text_set(values: Json) -> frozenset[str]:
    return frozenset(str(value) for value in values) if isinstance(values, list) else frozenset()
