"""Everybody's kinds of record, as a tenant takes them into use: each has a row of its own from its first record on, and
that row follows what a newer Parlour says of the kind. What a pack says itself is left alone."""

from datetime import datetime
from uuid import UUID

from parlour.infra import log
from parlour.infra.ids import NewId
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import backfill, registry, store
from parlour.knowledge.records.definition import Definition, is_told_anew
from parlour.principal import Principal, system
from parlour.tenancy import versions


def kind_in_use(principal: Principal, tx: Transaction, key: str, now: datetime, new_id: NewId) -> Definition:
    """One kind, with a row that says what is in force; its records are described anew when that tells otherwise.

    InvalidRequest when there is no such kind.
    """
    found = registry.definition(tx, key)
    if found.id is None:
        type_id = new_id(now)
        if store.add_entity_type(tx, found, type_id, now):
            _keep_version(principal, tx, found, type_id, 1, now, new_id)
    elif found.behind:
        _renew(principal, tx, found, found.id, now, new_id)
    else:
        return found
    return registry.definition(tx, key)


def _renew(
    principal: Principal, tx: Transaction, found: Definition, type_id: UUID, now: datetime, new_id: NewId
) -> None:
    before = store.entity_type_by_id(tx, type_id)
    if before and store.renew_entity_type(tx, found, now):
        _keep_version(principal, tx, found, type_id, found.version + 1, now, new_id)
        if is_told_anew(before.config, found.config):
            backfill.mark(tx, type_id, now)
        log.info("kind_renewed", tenant_id=principal.tenant_id, type_id=type_id, version=found.version + 1)


def _keep_version(
    principal: Principal, tx: Transaction, kind: Definition, type_id: UUID, version: int, now: datetime, new_id: NewId
) -> None:
    """In Parlour's own name: so it is known that no pack said it."""
    versions.record(system(principal.tenant_id), tx, "entity_type", type_id, version, kind.config, now, new_id)
