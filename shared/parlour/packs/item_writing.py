"""Items written into a tenant: its configuration, records, links and documents, in the order of their references."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parlour.documents.pack_import import (
    DocumentImportPlan,
    delete_pack_documents,
    import_documents,
    prepare_document_import,
)
from parlour.infra.errors import Forbidden
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.models import spend
from parlour.packs import drafts, plan, store
from parlour.packs.items import (
    ItemId,
    ItemKind,
    parse_record_key,
    snapshot_templates,
    to_document_draft,
    to_link_draft,
    to_record_draft,
)
from parlour.packs.plan import ConfigPlan
from parlour.packs.tenant_state import StoredTenant
from parlour.principal import LEVEL_NAMES, Principal, system_principal
from parlour.records import backfill
from parlour.records.pack_import import RecordImportPlan, delete_records, import_records, prepare_record_import
from parlour.records.record_links import import_links, remove_links
from parlour.records.record_type import is_backfill_needed
from parlour.records.write_counts import WriteCounts
from parlour.search.index.embedders import Vectors
from parlour.tenancy import config_versions, routing_keys, tenants
from parlour.tenancy.routing_keys import NO_POLICY, RoutePolicy

type Targets = Mapping[ItemId, JsonObject | None]


@dataclass(frozen=True, slots=True)
class ApplyCounts:
    """What became of one kind of thing: counts.

    kept: stored, not in the pack, left as it is; retired: bindings that are not in the pack, switched off; deleted:
    not in the pack, pruned.
    """

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    kept: int = 0
    retired: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class WritePlan:
    """Targets (None: delete) with their searchable rows.

    built_in_types  types whose definition comes from Parlour, not from the pack.
    """

    targets: Targets
    records: RecordImportPlan
    documents: DocumentImportPlan
    built_in_types: Set[str] = field(default_factory=frozenset)

    @property
    def texts_to_embed(self) -> list[str]:
        """The texts that have no vector yet."""
        return [*self.records.texts_to_embed, *self.documents.texts_to_embed]

    def of_kind(self, kind: ItemKind) -> dict[ItemId, JsonObject]:
        """Return the items of one kind to have."""
        return {item: fields for item, fields in self.targets.items() if item.kind == kind and fields is not None}

    def to_delete(self, kind: ItemKind) -> list[ItemId]:
        """Return the items of one kind to delete."""
        return [item for item, fields in self.targets.items() if item.kind == kind and fields is None]


def prepare(
    tx: Transaction, targets: Targets, stored: StoredTenant, space: str, built_in_types: Set[str] = frozenset()
) -> WritePlan:
    """Render the searchable rows of the targets; writes nothing. `space` is the embedder's."""
    present = {item: fields for item, fields in targets.items() if fields is not None}
    records = [to_record_draft(item, fields) for item, fields in present.items() if item.kind == "entity"]
    documents = [to_document_draft(item, fields) for item, fields in present.items() if item.kind == "document"]
    templates = snapshot_templates({**stored.state.current, **present})
    return WritePlan(
        targets,
        prepare_record_import(tx, records, templates, space),
        prepare_document_import(tx, documents, space),
        built_in_types,
    )


def write(
    principal: Principal,
    tx: Transaction,
    writing: WritePlan,
    vectors: Vectors,
    stored: StoredTenant,
    now: datetime,
    routes: RoutePolicy = NO_POLICY,
) -> dict[ItemKind, ApplyCounts]:
    """Write everything and return the counts by kind.

    Forbidden for a binding above the principal's clearance, Conflict for a routing key of another tenant,
    InvalidRequest for a host of the deployment itself.
    """
    counts: dict[ItemKind, ApplyCounts] = {"tenant": _write_tenant(principal, tx, writing, stored, now)}
    counts |= _write_configuration(principal, tx, writing, stored, now, routes)
    # Documents and links go before the records that they are about.
    if documents := writing.to_delete("document"):
        delete_pack_documents(principal, tx, [item.name for item in documents], now)
    if deleted_links := writing.to_delete("edge"):
        remove_links(principal, tx, [to_link_draft(item) for item in deleted_links], now)
    delete_records(principal, tx, [parse_record_key(item.name) for item in writing.to_delete("entity")], now)
    links = [to_link_draft(item) for item in writing.of_kind("edge")]
    written: dict[ItemKind, WriteCounts] = {
        "entity": import_records(principal, tx, writing.records, vectors, now),
        "edge": import_links(principal, tx, links, now),
        "document": import_documents(principal, tx, writing.documents, vectors, now),
    }
    for kind, one in written.items():
        counts[kind] = ApplyCounts(one.created, one.changed, one.unchanged, deleted=len(writing.to_delete(kind)))
    for item in writing.to_delete("tool"):
        store.delete_tool(tx, item.name)
    for item in writing.to_delete("entity_type"):
        store.delete_unused_type(tx, item.name)
    return counts


def _write_tenant(
    principal: Principal, tx: Transaction, writing: WritePlan, stored: StoredTenant, now: datetime
) -> ApplyCounts:
    for fields in writing.of_kind("tenant").values():
        name, tenant = str(fields["display_name"]), stored.tenant
        if tenant is None:
            slug, settings = str(fields["slug"]), drafts.tenant_settings(fields, {})
            tenants.create_tenant(principal, tx, slug=slug, display_name=name, settings=settings, now=now)
            _write_daily_cap(principal, tx, fields, now)
            return ApplyCounts(created=1)
        settings = drafts.tenant_settings(fields, tenant.settings)
        is_changed = tenants.update_tenant(principal, tx, display_name=name, settings=settings, now=now)
        is_changed = _write_daily_cap(principal, tx, fields, now) or is_changed
        return ApplyCounts(changed=1) if is_changed else ApplyCounts(unchanged=1)
    return ApplyCounts()


def _write_daily_cap(principal: Principal, tx: Transaction, fields: JsonObject, now: datetime) -> bool:
    """Write the daily cap; fields without one leave the cap as it was last set."""
    cap = fields.get(drafts.DAILY_CAP_FIELD)
    return cap is not None and spend.set_daily_cap(principal, tx, Decimal(str(cap)), now)


def _write_configuration(
    principal: Principal, tx: Transaction, writing: WritePlan, stored: StoredTenant, now: datetime, routes: RoutePolicy
) -> dict[ItemKind, ApplyCounts]:
    known = stored.configuration
    parts = {item: fields for item, fields in writing.targets.items() if fields is not None}
    plans = plan.plan_configuration(parts, known, now)
    # Whoever opens a door sees through it: nobody gives a binding more clearance than their own.
    for part in (part for one in plans if one.kind == "binding" for part in one.items_to_write):
        given = part.config["clearance"]
        if isinstance(given, int) and given > principal.clearance and part.config["is_active"]:
            levels = f"the clearance {LEVEL_NAMES[given]}, but yours is {LEVEL_NAMES[principal.clearance]}"
            raise Forbidden(f"binding {part.name} would have {levels}; ask someone with that clearance")
    ids = plan.item_ids(known, plans)
    for one in plans:
        store.upsert_items(tx, one.kind, one.items_to_write, ids, now)
        _record_versions(principal, tx, one, writing.built_in_types, now)
    _schedule_backfills(tx, plans, stored, now)
    _write_routing_keys(principal, tx, _binding_keys(plans, stored), routes, now)
    counts: dict[ItemKind, ApplyCounts] = {}
    for one in plans:
        deleted = len(writing.to_delete(one.kind))
        counts[one.kind] = ApplyCounts(
            one.counts.created,
            one.counts.changed,
            one.counts.unchanged,
            kept=one.kept_count - deleted,
            retired=one.retired_count,
            deleted=deleted,
        )
    return counts


def _binding_keys(plans: Sequence[ConfigPlan], stored: StoredTenant) -> dict[str, UUID]:
    """Return the addresses of the active bindings, each with its binding."""
    ids = plan.item_ids(stored.configuration, list(plans))
    bindings = {part.name: part.config for part in stored.configuration.values() if part.kind == "binding"}
    bindings |= {part.name: part.config for one in plans if one.kind == "binding" for part in one.items_to_write}
    return {
        key: ids["binding", slug]
        for slug, config in bindings.items()
        if config["is_active"]
        for key in drafts.binding_routing_keys(config)
    }


def _write_routing_keys(
    principal: Principal, tx: Transaction, wanted: Mapping[str, UUID], routes: RoutePolicy, now: datetime
) -> None:
    """Let the addresses of the active bindings lead to them, or wait for the operator, and release all others."""
    for key in wanted:
        routing_keys.require_claimable(key, routes)
    held = {route.key: route.binding_id for route in routing_keys.list_own_keys(tx) if route.binding_id}
    if held.keys() - wanted.keys():
        routing_keys.release_keys_except(tx, wanted, now)
    routing_keys.drop_waiting_claims_except(tx, wanted)
    for key, binding_id in sorted(wanted.items()):
        if held.get(key) != binding_id:
            routing_keys.request_key(principal, tx, key, binding_id, routes, now)


def _schedule_backfills(tx: Transaction, plans: Sequence[ConfigPlan], stored: StoredTenant, now: datetime) -> None:
    """Schedule the records that are not in the pack for a new description where their type changed."""
    for part in (part for one in plans if one.kind == "entity_type" for part in one.items_to_write):
        before = stored.configuration.get((part.kind, part.name))
        if before and is_backfill_needed(before.config, part.config):
            backfill.schedule_backfill(tx, part.id, now)


def _record_versions(
    principal: Principal, tx: Transaction, done: ConfigPlan, built_in_types: Set[str], now: datetime
) -> None:
    """Secrets have no versions: which reference was in force when is in the audit trail's time, never a value."""
    if done.kind == "secret":
        return
    for part in done.items_to_write:
        is_built_in = done.kind == "entity_type" and part.name in built_in_types
        by = system_principal(principal.tenant_id) if is_built_in else principal
        config_versions.record_version(by, tx, done.kind, part.id, part.version, part.config, now)
