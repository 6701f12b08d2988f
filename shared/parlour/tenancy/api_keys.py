"""API keys of a tenant: made, shown once, checked by their hash, revoked.

A key reads `parlour_<tenant>_<key><secret>`, all in hex: the tenant's id, the key's id, and 256 random bits.
The ids find the row; only the secret is worth anything, and only its SHA-256 is stored. A fast hash will do:
256 random bits cannot be guessed from it.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.page_cursor import Page, cut_page, decode_id_cursor
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import audit, store
from parlour.tenancy.labels import validate_label
from parlour.tenancy.roles import check_grant, require_role
from parlour.tenancy.rows import ApiKey

__all__ = [
    "SCOPES",
    "ApiKey",
    "CreatedApiKey",
    "NewApiKey",
    "PresentedKey",
    "create_key",
    "list_keys",
    "parse_key",
    "revoke_key",
]

SCOPES = frozenset(
    {
        "approvals",
        "attention",
        "configuration",
        "costs",
        "documents",
        "entities",
        "erasure",
        "files",
        "inbox",
        "memory",
        "operations",
        "people",
        "pulse",
        "search",
        "sessions",
        "turns",
    }
)
"""The parts of the API, by the tags of its routes."""

_SECRET_BYTES = 32
_KEY_PATTERN = re.compile(r"parlour_([0-9a-f]{32})_([0-9a-f]{32})([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class CreatedApiKey:
    """A new key and its text, which nobody can read again."""

    key: ApiKey
    text: str


@dataclass(frozen=True, slots=True)
class PresentedKey:
    """A text of the form of a key, as somebody presented it: not yet known to be one."""

    tenant_id: UUID
    key_id: UUID
    secret: bytes

    def matches(self, secret_hash: bytes) -> bool:
        """Whether the secret is the one behind the stored hash; takes the same time either way."""
        return hmac.compare_digest(_hash(self.secret), secret_hash)


def parse_key(text: str) -> PresentedKey | None:
    """Return the parts of a text in the form of a key, else None."""
    form = _KEY_PATTERN.fullmatch(text)
    return form and PresentedKey(UUID(form[1]), UUID(form[2]), bytes.fromhex(form[3]))


@dataclass(frozen=True, slots=True)
class NewApiKey:
    """A key to create.

    expires_at  None: never.
    scopes      the parts of the API that it opens, from `SCOPES`; empty: all.
    """

    name: str
    roles: Collection[str] = ()
    clearance: int = 1
    expires_at: datetime | None = None
    scopes: Collection[str] = ()


def create_key(
    principal: Principal,
    tx: Transaction,
    new: NewApiKey,
    now: datetime,
    randomness: Callable[[int], bytes] = os.urandom,
) -> CreatedApiKey:
    """Create a key of the principal's tenant. Needs admin, and no key may; audited.

    Forbidden and InvalidRequest as `check_grant`; InvalidRequest also for an unknown scope and for a time that is over.
    """
    check_grant(principal, new.roles, new.clearance)
    if unknown := sorted(set(new.scopes) - SCOPES):
        raise InvalidRequest(f"scopes: {', '.join(map(repr, unknown))} unknown; use {', '.join(sorted(SCOPES))}")
    if new.expires_at is not None and new.expires_at <= now:
        raise InvalidRequest("expires_at: is over already; give a later time")
    secret = randomness(_SECRET_BYTES)
    key = store.create_key(
        tx,
        key_id=uuid7(now),
        name=validate_label("name", new.name),
        secret_hash=_hash(secret),
        roles=sorted(set(new.roles)),
        clearance=new.clearance,
        expires_at=new.expires_at,
        scopes=sorted(set(new.scopes)),
        now=now,
    )
    details: JsonObject = {"roles": [*key.roles], "clearance": key.clearance, "scopes": [*key.scopes]}
    audit.add_entry(principal, tx, "key.created", f"key:{key.id}", details, now)
    return CreatedApiKey(key, f"parlour_{principal.tenant_id.hex}_{key.id.hex}{secret.hex()}")


def revoke_key(principal: Principal, tx: Transaction, key_id: UUID, now: datetime) -> ApiKey:
    """End a key at once; one that has ended stays as it was. Needs admin; audited. Raises NotFound."""
    require_role(principal, "admin")
    key = store.revoke_key(tx, key_id, now)
    if key is None:
        raise NotFound("API key not found; reload the list")
    if key.revoked_at == now:
        audit.add_entry(principal, tx, "key.revoked", f"key:{key.id}", {}, now)
    return key


def list_keys(principal: Principal, tx: Transaction, limit: int = 100, cursor: str = "") -> Page[ApiKey]:
    """Return a page of the tenant's keys, newest first, revoked too. Needs admin; InvalidRequest for a bad cursor."""
    require_role(principal, "admin")
    rows = store.list_keys(tx, limit + 1, decode_id_cursor(cursor) if cursor else None)
    return cut_page(rows, limit, lambda key: (key.created_at, key.id))


def _hash(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()
