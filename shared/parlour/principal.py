"""Who is acting: the one value that every room knows and every act takes first."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

PUBLIC, INTERNAL, CONFIDENTIAL, RESTRICTED = range(4)
"""Clearance and classification levels; a reader sees what is at or below their own."""

LEVEL_NAMES = ("public", "internal", "confidential", "restricted")
"""The same in words."""

type WriteRights = Literal["none", "own", "all"]
"""What a user may change: nothing; what they created themselves; everything that they can read."""

type PrincipalKind = Literal["user", "member", "key", "operator", "system"]


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody acting inside one tenant.

    kind       user: an end user on a channel; member: somebody of the tenant, signed in by OIDC;
               key: an API key of the tenant; operator: whoever runs the deployment;
               system: Parlour itself, working on a queue.
    id         the user's, member's or key's row; None for operator and system.
    roles      `admin` may change configuration, `viewer` may read what an operator sees,
               `editor` may write records, documents and files.
    clearance  0 public, 1 internal, 2 confidential, 3 restricted.
    writes     what a user may change; of others the roles decide.
    label      the subject of an operator who signed in by OIDC.
    """

    tenant_id: UUID
    kind: PrincipalKind
    id: UUID | None = None
    roles: frozenset[str] = frozenset()
    clearance: int = PUBLIC
    writes: WriteRights = "none"
    label: str = ""

    @property
    def name(self) -> str:
        """How logs and the audit trail call this principal: kind and id, or the label; nothing personal."""
        return f"{self.kind}:{self.id or self.label}" if self.id or self.label else self.kind

    def has_role(self, role: str) -> bool:
        """Whether this principal holds `role`; administrators and operators hold every role."""
        return self.kind == "operator" or bool({role, "admin"} & self.roles)

    @property
    def write_rights(self) -> WriteRights:
        """What this principal may change: a user as `writes` says, anybody else as an editor or not at all."""
        if self.kind == "user":
            return self.writes
        return "all" if self.kind == "system" or self.has_role("editor") else "none"


def system_principal(tenant_id: UUID) -> Principal:
    """Parlour itself, acting for one tenant on behalf of nobody in particular."""
    return Principal(tenant_id, "system", clearance=RESTRICTED)
