"""Everybody's kinds of record, as a tenant takes them into use: each has a row of its own from its first record on, and
that row follows what a newer Parlour says of the kind. What a pack says itself is left alone."""

from datetime import datetime
from uuid import UUID

from parlour.infra import log
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.principal import Principal, system_principal
from parlour.records import backfill, store, type_registry
from parlour.records.record_type import RecordType, is_backfill_needed
from parlour.tenancy import config_versions


def provision_record_type(principal: Principal, tx: Transaction, key: str, now: datetime) -> RecordType:
    """One kind, with a row that says what is in force; its records are described anew when that tells otherwise.

    InvalidRequest when there is no such kind.
    """
    found = type_registry.get_record_type(tx, key)
    if found.id is None:
        type_id = uuid7(now)
        if store.add_record_type(tx, found, type_id, now):
            _record_version(principal, tx, found, type_id, 1, now)
    elif found.is_outdated:
        before = store.find_record_type_by_id(tx, found.id)
        if before and store.upgrade_record_type(tx, found, now):
            version = found.version + 1
            _record_version(principal, tx, found, found.id, version, now)
            if is_backfill_needed(before.config, found.config):
                backfill.schedule_backfill(tx, found.id, now)
            log.info("record_type_upgraded", tenant_id=principal.tenant_id, type_id=found.id, version=version)
    else:
        return found
    return type_registry.get_record_type(tx, key)


def _record_version(
    principal: Principal, tx: Transaction, kind: RecordType, type_id: UUID, version: int, now: datetime
) -> None:
    """In Parlour's own name: so it is known that no pack said it."""
    config_versions.record_version(
        system_principal(principal.tenant_id), tx, "entity_type", type_id, version, kind.config, now
    )
