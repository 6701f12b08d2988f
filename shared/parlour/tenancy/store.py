"""The room's rows: every named query of `queries.sql` as a function of one open transaction."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, get_origin
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.tenancy.limits import RateLimit
from parlour.tenancy.persona import Agent, Binding, HandoffTarget, Human, Persona, Team
from parlour.tenancy.rows import (
    ApiKey,
    AuditEntry,
    Contact,
    CredentialRow,
    Member,
    RateLimitRow,
    RoutingClaim,
    RoutingKey,
    Session,
    Tenant,
    TenantLabel,
    TenantSecret,
    TenantStatus,
    User,
    WaitingClaim,
    WaitingRoute,
)

SQL = Queries.for_module(__file__)

#: How long visitors stay who wrote nothing.
KEEP_SILENT_VISITORS = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class ActingUser:
    """A user and a binding as they are now.

    can_act      the agent's mode.
    token_epoch  of the user that was asked for, who may have turned out to be this one.
    is_by_phone  whether a phone writes in the session that was asked for.
    """

    user: User
    binding: Binding
    can_act: bool
    tenant: Tenant
    token_epoch: int
    is_by_phone: bool


@dataclass(frozen=True, slots=True)
class _ActingUserRow:
    user: JsonObject
    binding: JsonObject
    can_act: bool
    tenant: JsonObject
    token_epoch: int
    is_by_phone: bool


@dataclass(frozen=True, slots=True)
class _PersonaRow:
    config: str
    user: JsonObject | None
    tools_json: str | None
    record_types_json: str | None
    last_record_write: str | None


def find_routing_key(tx: Transaction, key: str) -> RoutingKey | None:
    return tx.first(SQL["find_routing_key"], RoutingKey, key=key)


def claim_routing_key(tx: Transaction, key: str, binding_id: UUID | None) -> RoutingKey | None:
    return tx.first(SQL["claim_routing_key"], RoutingKey, key=key, binding_id=binding_id)


def release_routing_keys(tx: Transaction, kept: Collection[str], now: datetime) -> list[RoutingKey]:
    return tx.all(SQL["release_routing_keys"], RoutingKey, kept=sorted(kept), now=now)


def release_routing_key(tx: Transaction, key: str) -> None:
    tx.run(SQL["release_routing_key"], key=key)


def count_tenants(tx: Transaction) -> int:
    count: int = tx.value(SQL["count_tenants"])
    return count


def find_routing_claims(tx: Transaction, key: str) -> list[RoutingClaim]:
    return tx.all(SQL["find_routing_claims"], RoutingClaim, key=key)


def list_waiting_routes(tx: Transaction, most: int) -> list[WaitingRoute]:
    return tx.all(SQL["list_waiting_routes"], WaitingRoute, most=most)


def save_routing_claim(tx: Transaction, key: str, binding_id: UUID, now: datetime) -> None:
    tx.run(SQL["save_routing_claim"], key=key, binding_id=binding_id, now=now)


def drop_waiting_claims(tx: Transaction, kept: Collection[str]) -> None:
    tx.run(SQL["drop_waiting_claims"], kept=sorted(kept))


def drop_routing_claim(tx: Transaction, key: str) -> None:
    tx.run(SQL["drop_routing_claim"], key=key)


def list_waiting_claims(tx: Transaction) -> list[WaitingClaim]:
    return tx.all(SQL["list_waiting_claims"], WaitingClaim)


def list_own_routing_keys(tx: Transaction) -> list[RoutingKey]:
    return tx.all(SQL["list_own_routing_keys"], RoutingKey)


def find_tenant(tx: Transaction) -> Tenant | None:
    return tx.first(SQL["find_tenant"], Tenant)


def create_tenant(
    tx: Transaction, *, slug: str, display_name: str, settings: JsonObject, now: datetime
) -> Tenant | None:
    query = SQL["create_tenant"]
    return tx.first(query, Tenant, slug=slug, display_name=display_name, settings=settings, now=now)


def update_tenant(tx: Transaction, *, display_name: str, settings: JsonObject, now: datetime) -> Tenant | None:
    return tx.first(SQL["update_tenant"], Tenant, display_name=display_name, settings=settings, now=now)


def set_tenant_status(tx: Transaction, status: TenantStatus, now: datetime) -> Tenant | None:
    return tx.first(SQL["set_tenant_status"], Tenant, status=status, now=now)


def find_persona(tx: Transaction, binding_id: UUID, user_id: UUID | None) -> Persona | None:
    row = tx.first(SQL["find_persona"], _PersonaRow, binding_id=binding_id, user_id=user_id)
    if row is None:
        return None
    config = json.loads(row.config)
    return Persona(
        tenant=parse_tenant(config["tenant"]),
        binding=_from_json_row(Binding, config["binding"]),
        human=_from_json_row(Human, config["human"]),
        team=_from_json_row(Team, config["team"]),
        agent=_from_json_row(Agent, config["agent"]),
        user=_from_json_row(User, row.user) if row.user else None,
        last_record_write=row.last_record_write,
        tools_json=row.tools_json or "",
        record_types_json=row.record_types_json or "",
        handoff_targets=tuple(HandoffTarget(**one) for one in config["handoff_targets"] or ()),
    )


def find_binding(tx: Transaction, binding_id: UUID) -> Binding | None:
    return tx.first(SQL["find_binding"], Binding, binding_id=binding_id)


def find_binding_by_slug(tx: Transaction, slug: str) -> Binding | None:
    return tx.first(SQL["find_binding_by_slug"], Binding, slug=slug)


def list_bindings_of_agent(tx: Transaction, agent: str) -> list[Binding]:
    return tx.all(SQL["list_bindings_of_agent"], Binding, agent=agent)


def list_active_bindings(tx: Transaction) -> list[Binding]:
    return tx.all(SQL["list_active_bindings"], Binding)


def find_or_create_contact(tx: Transaction, **values: str | UUID | datetime | None) -> Contact:
    return tx.one(SQL["find_or_create_contact"], Contact, **values)


def create_visitor(tx: Transaction, **values: UUID | datetime | str | None) -> Contact | None:
    return tx.first(SQL["create_visitor"], Contact, **values)


def delete_silent_visitors(tx: Transaction, since: datetime, before: datetime, limit: int) -> int:
    """Delete visitors who came in a span of time and wrote nothing, at most `limit`. Return how many."""
    return tx.run(SQL["delete_silent_visitors"], since=since, before=before, most=limit)


def has_visitors_since(tx: Transaction, since: datetime) -> bool:
    """Return whether the tenant has visitors who came since a time."""
    return tx.value(SQL["find_visitor_since"], since=since) is not None


def open_session(tx: Transaction, **values: UUID | datetime | int | str | None) -> Session | None:
    return tx.first(SQL["open_session"], Session, **values)


def find_session(tx: Transaction, session_id: UUID) -> Session | None:
    return tx.first(SQL["find_session"], Session, session_id=session_id)


def find_acting_user(
    tx: Transaction, user_id: UUID, binding_id: UUID, session_id: UUID | None = None
) -> ActingUser | None:
    values = {"user_id": user_id, "binding_id": binding_id, "session_id": session_id}
    row = tx.first(SQL["find_acting_user"], _ActingUserRow, **values)
    if row is None:
        return None
    return ActingUser(
        _from_json_row(User, row.user),
        _from_json_row(Binding, row.binding),
        row.can_act,
        parse_tenant(row.tenant),
        row.token_epoch,
        row.is_by_phone,
    )


def find_member_user(tx: Transaction, member_id: UUID) -> UUID | None:
    found: UUID | None = tx.value(SQL["find_member_user"], member_id=member_id)
    return found


def create_member_user(tx: Transaction, **values: UUID | datetime) -> UUID | None:
    made: UUID | None = tx.value(SQL["create_member_user"], **values)
    return made


def set_user_clearance(tx: Transaction, user_id: UUID, clearance: int | None) -> bool:
    """Whether there is such a user."""
    return tx.value(SQL["set_user_clearance"], user_id=user_id, clearance=clearance) is not None


def find_member_credential(tx: Transaction, issuer: str, subject: str) -> CredentialRow | None:
    return tx.first(SQL["find_member_credential"], CredentialRow, issuer=issuer, subject=subject)


def find_key_credential(tx: Transaction, key_id: UUID, now: datetime) -> CredentialRow | None:
    return tx.first(SQL["find_key_credential"], CredentialRow, key_id=key_id, now=now)


def list_member_tenants(tx: Transaction, issuer: str, subject: str, limit: int) -> list[TenantLabel]:
    return tx.all(SQL["list_member_tenants"], TenantLabel, issuer=issuer, subject=subject, most=limit)


def list_all_tenants(tx: Transaction, limit: int) -> list[TenantLabel]:
    return tx.all(SQL["list_all_tenants"], TenantLabel, most=limit)


def mark_key_used(tx: Transaction, key_id: UUID, now: datetime) -> None:
    tx.run(SQL["mark_key_used"], key_id=key_id, now=now)


def raise_token_epoch(tx: Transaction, user_id: UUID) -> bool:
    """Whether there is such a user."""
    return tx.run(SQL["raise_token_epoch"], user_id=user_id) > 0


def take_token(tx: Transaction, limit: RateLimit, now: datetime) -> RateLimitRow:
    return tx.one(
        SQL["take_token"], RateLimitRow, scope=limit.scope, key=limit.key, per_minute=limit.per_minute, now=now
    )


def add_open_stream(tx: Transaction, **values: UUID | str | int | datetime) -> bool:
    """Whether there is room for the stream; counted alone, since only a second statement sees what was committed."""
    tx.run(SQL["lock_open_streams"], user_id=values["user_id"])
    return tx.run(SQL["add_open_stream"], **values) == 1


def delete_open_stream(tx: Transaction, stream_id: UUID) -> None:
    tx.run(SQL["delete_open_stream"], id=stream_id)


def delete_unused_sessions(tx: Transaction, user_id: UUID, most: int) -> int:
    """Delete the oldest unused sessions of a user, whose row stays locked; return how many unused ones are left."""
    tx.run(SQL["lock_session_owner"], user_id=user_id)
    left: int = tx.value(SQL["delete_unused_sessions"], user_id=user_id, most=most)
    return left


def mark_notified(tx: Transaction, limit: RateLimit, now: datetime, since: datetime) -> bool:
    """Whether nobody was told since then."""
    return tx.run(SQL["mark_notified"], scope=limit.scope, key=limit.key, now=now, since=since) == 1


def list_rate_limits(tx: Transaction, limit: int, after: tuple[bool, datetime, str, str] | None) -> list[RateLimitRow]:
    refused, at, scope, key = after or (False, None, "", "")
    return tx.all(
        SQL["list_rate_limits"],
        RateLimitRow,
        most=limit,
        after_refused=refused,
        after_at=at,
        after_scope=scope,
        after_key=key,
    )


def add_member(tx: Transaction, **values: str | int | UUID | datetime | list[str]) -> Member | None:
    return tx.first(SQL["add_member"], Member, **values)


def update_member(tx: Transaction, **values: int | str | UUID | list[str] | None) -> Member | None:
    return tx.first(SQL["update_member"], Member, **values)


def list_members(tx: Transaction, limit: int, after: tuple[str, UUID] | None) -> list[Member]:
    name, id_ = after or ("", None)
    return tx.all(SQL["list_members"], Member, most=limit, after_name=name, after_id=id_)


def create_key(tx: Transaction, **values: str | int | bytes | UUID | datetime | list[str] | None) -> ApiKey:
    return tx.one(SQL["create_key"], ApiKey, **values)


def revoke_key(tx: Transaction, key_id: UUID, now: datetime) -> ApiKey | None:
    return tx.first(SQL["revoke_key"], ApiKey, key_id=key_id, now=now)


def list_keys(tx: Transaction, limit: int, after: tuple[datetime, UUID] | None) -> list[ApiKey]:
    at, id_ = after or (None, None)
    return tx.all(SQL["list_keys"], ApiKey, most=limit, after_at=at, after_id=id_)


def add_config_version(tx: Transaction, **values: str | int | UUID | datetime | JsonObject) -> bool:
    """Whether it was written: False when that version was there already."""
    return tx.run(SQL["add_config_version"], **values) == 1


def add_audit_entry(tx: Transaction, **values: str | UUID | datetime | JsonObject) -> None:
    tx.run(SQL["add_audit_entry"], **values)


def list_audit_entries(
    tx: Transaction, clearance: int, limit: int, before: tuple[datetime, UUID] | None
) -> list[AuditEntry]:
    at, id_ = before or (None, None)
    return tx.all(SQL["list_audit_entries"], AuditEntry, clearance=clearance, most=limit, before_at=at, before_id=id_)


def parse_tenant(row: JsonObject) -> Tenant:
    """Return a tenant that was read with another row."""
    return _from_json_row(Tenant, row)


def _from_json_row[R](record: type[R], row: Mapping[str, Any]) -> R:
    """Return a row that was read as JSON as its record; columns without a field are left out."""
    return record(**{field.name: _convert(field.type, row[field.name]) for field in fields(record)})  # type: ignore[arg-type]


def _convert(kind: object, value: Any) -> object:
    if kind is UUID:
        return UUID(value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    return tuple(value) if get_origin(kind) is tuple else value


def list_secrets(tx: Transaction) -> list[TenantSecret]:
    return tx.all(SQL["list_secrets"], TenantSecret)
