"""The room's rows: every named query of `queries.sql` as a function of one open transaction."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, get_origin
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.tenancy.persona import Agent, Binding, Human, Persona, Team
from parlour.tenancy.records import (
    Acting,
    Admission,
    Contact,
    Entry,
    Key,
    Member,
    Route,
    Session,
    Status,
    Tenant,
    Tier,
    User,
    Version,
)

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class _PersonaRow:
    config: str
    user: JsonObject | None
    tools: str | None
    record_mark: str | None


def route(tx: Transaction, key: str) -> Route | None:
    return tx.first(SQL["route"], Route, key=key)


def claim_route(tx: Transaction, key: str, binding_id: UUID | None) -> Route | None:
    return tx.first(SQL["claim_route"], Route, key=key, binding_id=binding_id)


def release_routes(tx: Transaction, kept: Collection[str]) -> list[Route]:
    return tx.all(SQL["release_routes"], Route, kept=sorted(kept))


def own_routes(tx: Transaction) -> list[Route]:
    return tx.all(SQL["own_routes"], Route)


def tenant(tx: Transaction) -> Tenant | None:
    return tx.first(SQL["tenant"], Tenant)


def create_tenant(
    tx: Transaction, *, slug: str, display_name: str, settings: JsonObject, now: datetime
) -> Tenant | None:
    query = SQL["create_tenant"]
    return tx.first(query, Tenant, slug=slug, display_name=display_name, settings=settings, now=now)


def update_tenant(tx: Transaction, *, display_name: str, settings: JsonObject, now: datetime) -> Tenant | None:
    return tx.first(SQL["update_tenant"], Tenant, display_name=display_name, settings=settings, now=now)


def set_tenant_status(tx: Transaction, status: Status, now: datetime) -> Tenant | None:
    return tx.first(SQL["set_tenant_status"], Tenant, status=status, now=now)


def persona(tx: Transaction, binding_id: UUID, user_id: UUID | None) -> Persona | None:
    row = tx.first(SQL["persona"], _PersonaRow, binding_id=binding_id, user_id=user_id)
    if row is None:
        return None
    user = _fit(User, row.user) if row.user else None
    return replace(_persona(row.config), user=user, record_mark=row.record_mark, tools=row.tools or "")


def _persona(config: str) -> Persona:
    """A persona without its user."""
    row = json.loads(config)
    return Persona(
        tenant=tenant_of(row["tenant"]),
        binding=_fit(Binding, row["binding"]),
        human=_fit(Human, row["human"]),
        team=_fit(Team, row["team"]),
        agent=_fit(Agent, row["agent"]),
    )


def binding_by_id(tx: Transaction, binding_id: UUID) -> Binding | None:
    return tx.first(SQL["binding_by_id"], Binding, binding_id=binding_id)


def binding_by_slug(tx: Transaction, slug: str) -> Binding | None:
    return tx.first(SQL["binding_by_slug"], Binding, slug=slug)


def bindings_of_agent(tx: Transaction, agent: str) -> list[Binding]:
    return tx.all(SQL["bindings_of_agent"], Binding, agent=agent)


def active_bindings(tx: Transaction) -> list[Binding]:
    return tx.all(SQL["active_bindings"], Binding)


def contact(tx: Transaction, **values: str | UUID | datetime | None) -> Contact:
    return tx.one(SQL["contact"], Contact, **values)


def open_visitor(tx: Transaction, **values: UUID | datetime | str | None) -> Contact | None:
    return tx.first(SQL["open_visitor"], Contact, **values)


def open_session(tx: Transaction, **values: UUID | datetime | int | str | None) -> Session | None:
    return tx.first(SQL["open_session"], Session, **values)


def session(tx: Transaction, session_id: UUID) -> Session | None:
    return tx.first(SQL["session"], Session, session_id=session_id)


def sessions_of_user(tx: Transaction, user_id: UUID, most: int) -> list[Session]:
    return tx.all(SQL["sessions_of_user"], Session, user_id=user_id, most=most)


def acting_user(tx: Transaction, user_id: UUID, binding_id: UUID) -> Acting | None:
    return tx.first(SQL["acting_user"], Acting, user_id=user_id, binding_id=binding_id)


def admit_member(tx: Transaction, issuer: str, subject: str) -> Admission | None:
    return tx.first(SQL["admit_member"], Admission, issuer=issuer, subject=subject)


def admit_key(tx: Transaction, key_id: UUID) -> Admission | None:
    return tx.first(SQL["admit_key"], Admission, key_id=key_id)


def admit_visitor(tx: Transaction, user_id: UUID, binding_id: UUID) -> Admission | None:
    return tx.first(SQL["admit_visitor"], Admission, user_id=user_id, binding_id=binding_id)


def add_member(tx: Transaction, **values: str | int | UUID | datetime | list[str]) -> Member | None:
    return tx.first(SQL["add_member"], Member, **values)


def change_member(tx: Transaction, **values: int | UUID | list[str]) -> Member | None:
    return tx.first(SQL["change_member"], Member, **values)


def members(tx: Transaction) -> list[Member]:
    return tx.all(SQL["members"], Member)


def create_key(tx: Transaction, **values: str | int | bytes | UUID | datetime | list[str]) -> Key:
    return tx.one(SQL["create_key"], Key, **values)


def revoke_key(tx: Transaction, key_id: UUID, now: datetime) -> Key | None:
    return tx.first(SQL["revoke_key"], Key, key_id=key_id, now=now)


def keys(tx: Transaction) -> list[Key]:
    return tx.all(SQL["keys"], Key)


def record_version(tx: Transaction, **values: str | int | UUID | datetime | JsonObject) -> bool:
    """Whether it was written: False when that version was there already."""
    return tx.run(SQL["record_version"], **values) == 1


def versions(tx: Transaction, tier: Tier, tier_id: UUID) -> list[Version]:
    return tx.all(SQL["versions"], Version, tier=tier, tier_id=tier_id)


def record_act(tx: Transaction, **values: str | UUID | datetime | JsonObject) -> None:
    tx.run(SQL["record_act"], **values)


def acts(tx: Transaction, most: int, before: Entry | None) -> list[Entry]:
    at, id_ = (before.at, before.id) if before else (None, None)
    return tx.all(SQL["acts"], Entry, most=most, before_at=at, before_id=id_)


def tenant_of(row: JsonObject) -> Tenant:
    """A tenant that came along with another row."""
    return _fit(Tenant, row)


def _fit[R](record: type[R], row: Mapping[str, Any]) -> R:
    """A row that was read as JSON, as its record; columns that the record has no field for are left out."""
    return record(**{field.name: _typed(field.type, row[field.name]) for field in fields(record)})  # type: ignore[arg-type]


def _typed(kind: object, value: Any) -> object:
    if kind is UUID:
        return UUID(value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    return tuple(value) if get_origin(kind) is tuple else value
