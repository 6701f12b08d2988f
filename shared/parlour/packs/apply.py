"""A pack put in force for its tenant, in one transaction."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parlour.documents.pack_import import import_documents, mark_documents_not_in_pack, prepare_document_import
from parlour.infra import log
from parlour.infra.errors import Conflict, Forbidden, InvalidPack, NotFound
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.models import spend
from parlour.packs import budget_check, built_in_tools, built_in_types, drafts, plan, store
from parlour.packs.format import Pack
from parlour.packs.plan import ConfigItem, ConfigKind, ConfigPlan
from parlour.principal import LEVEL_NAMES, Principal, system_principal
from parlour.records import backfill, type_registry
from parlour.records.pack_import import import_records, list_records_not_in_pack, prepare_record_import
from parlour.records.record_links import import_links
from parlour.records.record_type import is_backfill_needed
from parlour.records.write_counts import WriteCounts
from parlour.search.index.embedders import Embedder, embed_texts, space_name
from parlour.tenancy import audit, config_versions, routing_keys, tenants
from parlour.tenancy.roles import require_role
from parlour.text import token_counter


@dataclass(frozen=True, slots=True)
class ApplyCounts:
    """What became of one kind of thing: counts.

    kept: stored, not in the pack, left as it is; retired: bindings that are not in the pack, switched off.
    """

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    kept: int = 0
    retired: int = 0


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """What an apply did, by kind: tenant, those of `plan.Kind`, entity, edge, document; and the handles of records and
    documents that an earlier pack brought, this one does not have, and that are kept."""

    tenant_id: UUID
    tenant_slug: str
    counts: Mapping[str, ApplyCounts]
    not_in_pack: Sequence[str] = ()

    @property
    def has_changes(self) -> bool:
        """Whether anything was written."""
        return any(tally.created or tally.changed or tally.retired for tally in self.counts.values())

    def audit_details(self) -> JsonObject:
        """Return the result as the audit log has it: counts only."""
        counts: JsonObject = {kind: asdict(tally) for kind, tally in self.counts.items()}
        left = len(self.not_in_pack)
        return {"tenant": self.tenant_slug, "changed": self.has_changes, "counts": counts, "not_in_pack": left}


def apply(
    principal: Principal,
    database: Database,
    embedder: Embedder,
    pack: Pack,
    now: datetime,
    count_tokens: Callable[[str], int] | None = token_counter.count_tokens,
) -> ApplyResult:
    """Make the principal's tenant what `pack` says; applying the same pack again writes and embeds nothing.

    The role admin is needed. An operator whose `tenant_id` names no tenant yet makes it. Rows are found by
    slug, name or key and keep their ids; each changed part of the configuration gets its next version.

    What is missing from the pack: bindings are switched off and their routing keys given up, since a pack
    says whom the tenant answers as; a team's members are those that the pack names. Everything else that is
    missing (tiers, tools, types, records, links, documents) stays as it is: conversations and citations
    refer to it, and records may have come in by other ways.

    Bindings whose layers 0 and 1 exceed their agent's profile are refused; `measure` is text to tokens, None
    does not look.

    Raises Forbidden, also for a binding that would show more than the principal may see; InvalidPack for
    what is too large; NotFound when there is no such tenant; Conflict when the pack belongs to another tenant, when a
    routing key does, or when another apply came in between; and what the embedder raises. Whatever it raises,
    nothing was written.
    """
    require_role(principal, "admin")
    said, pack = pack.entity_types.keys(), built_in_tools.add_built_in_tools(pack)
    problems = list(budget_check.find_budget_problems(pack, count_tokens)) if count_tokens else []
    if problems:
        raise InvalidPack(problems)
    where = space_name(embedder)
    records, texts = drafts.record_drafts(pack), drafts.document_drafts(pack)
    with database.transaction(principal) as tx:
        _check_tenant(principal, pack, tenants.find_own_tenant(tx))
        pack = built_in_types.add_built_in_types(pack, type_registry.list_pack_record_types(tx))
        entities = prepare_record_import(tx, records, drafts.snapshot_templates(pack), where)
        documents = prepare_document_import(tx, texts, where)
    vectors = embed_texts(embedder, [*entities.texts_to_embed, *documents.texts_to_embed])
    with database.transaction(principal) as tx:
        kinds = {"tenant": _write_tenant(principal, tx, pack, now)}
        kinds |= _write_configuration(principal, tx, pack, pack.entity_types.keys() - said, now)
        left = list_records_not_in_pack(tx, records), mark_documents_not_in_pack(tx, texts, now)
        kinds["entity"] = _apply_counts(import_records(principal, tx, entities, vectors, now), len(left[0]))
        kinds["edge"] = _apply_counts(import_links(principal, tx, drafts.link_drafts(pack), now))
        kinds["document"] = _apply_counts(import_documents(principal, tx, documents, vectors, now), len(left[1]))
        applied = ApplyResult(principal.tenant_id, pack.tenant.slug, kinds, [*left[0], *left[1]])
        if applied.has_changes:
            # A handle names what only some may see: whoever reads the trail is told how many were kept.
            target = f"tenant:{principal.tenant_id}"
            audit.add_entry(principal, tx, "pack.applied", target, applied.audit_details(), now)
    log.info("pack_applied", tenant_id=principal.tenant_id, changed=applied.has_changes)
    return applied


def _check_tenant(principal: Principal, pack: Pack, tenant: tenants.Tenant | None) -> None:
    if tenant is None and principal.kind != "operator":
        raise NotFound(
            f"tenant {principal.tenant_id} not found; the deployment's operator creates it with its first pack"
        )
    if tenant is not None and tenant.slug != pack.tenant.slug:
        raise Conflict(f"this pack is for tenant '{pack.tenant.slug}', but you are signed in to '{tenant.slug}'")


def _write_tenant(principal: Principal, tx: Transaction, pack: Pack, now: datetime) -> ApplyCounts:
    store.lock_tenant(tx)
    tenant, name = tenants.find_own_tenant(tx), pack.tenant.display_name
    _check_tenant(principal, pack, tenant)
    if tenant is None:
        slug = pack.tenant.slug
        settings = drafts.merge_tenant_settings(pack, {})
        tenants.create_tenant(principal, tx, slug=slug, display_name=name, settings=settings, now=now)
        _write_daily_cap(principal, tx, pack, now)
        return ApplyCounts(created=1)
    settings = drafts.merge_tenant_settings(pack, tenant.settings)
    changed = tenants.update_tenant(principal, tx, display_name=name, settings=settings, now=now)
    changed = _write_daily_cap(principal, tx, pack, now) or changed
    return ApplyCounts(changed=1) if changed else ApplyCounts(unchanged=1)


def _write_daily_cap(principal: Principal, tx: Transaction, pack: Pack, now: datetime) -> bool:
    """Write the pack's daily cap; a pack without one leaves the cap as it was last set."""
    cap = pack.tenant.daily_cap_usd
    return cap is not None and spend.set_daily_cap(principal, tx, Decimal(str(cap)), now)


def _write_configuration(
    principal: Principal, tx: Transaction, pack: Pack, built_in_types: Set[str], now: datetime
) -> dict[str, ApplyCounts]:
    """`ours`: the kinds of record that the pack does not say itself."""
    known = store.read_configuration(tx)
    plans = plan.plan_configuration(pack, known, now)
    # Whoever opens a door sees through it: nobody gives a binding more clearance than their own.
    for part in (part for one in plans if one.kind == "binding" for part in one.items_to_write):
        given = part.config["clearance"]
        if isinstance(given, int) and given > principal.clearance and part.config["is_active"]:
            levels = f"the clearance {LEVEL_NAMES[given]}, but yours is {LEVEL_NAMES[principal.clearance]}"
            raise Forbidden(f"binding {part.name} would have {levels}; ask someone with that clearance")
    ids = plan.item_ids(known, plans)
    for one in plans:
        store.upsert_items(tx, one.kind, one.items_to_write, ids, now)
        _record_versions(principal, tx, one, built_in_types, now)
    _schedule_backfills(tx, plans, known, now)
    wanted = {
        key: ids["binding", slug]
        for slug, binding in pack.bindings.items()
        for key in drafts.binding_routing_keys(binding)
    }
    held = {route.key: route.binding_id for route in routing_keys.list_own_keys(tx) if route.binding_id}
    if held.keys() - wanted.keys():
        routing_keys.release_keys_except(tx, wanted)
    for key, binding_id in sorted(wanted.items()):
        if held.get(key) != binding_id:
            routing_keys.claim_key(tx, key, binding_id)
    return {one.kind: _apply_counts(one.counts, one.kept_count, one.retired_count) for one in plans}


def _schedule_backfills(
    tx: Transaction, plans: Sequence[ConfigPlan], known: Mapping[tuple[ConfigKind, str], ConfigItem], now: datetime
) -> None:
    """Schedule the records that are not in the pack for a new description where their type changed."""
    for part in (part for one in plans if one.kind == "entity_type" for part in one.items_to_write):
        before = known.get((part.kind, part.name))
        if before and is_backfill_needed(before.config, part.config):
            backfill.schedule_backfill(tx, part.id, now)


def _record_versions(
    principal: Principal, tx: Transaction, done: ConfigPlan, built_in_types: Set[str], now: datetime
) -> None:
    """Secrets have no versions: which reference was in force when is in the audit trail's time, never a value."""
    if done.kind == "secret":
        return
    for part in done.items_to_write:
        by = (
            system_principal(principal.tenant_id)
            if done.kind == "entity_type" and part.name in built_in_types
            else principal
        )
        config_versions.record_version(by, tx, done.kind, part.id, part.version, part.config, now)


def _apply_counts(changes: WriteCounts, kept: int = 0, retired: int = 0) -> ApplyCounts:
    return ApplyCounts(changes.created, changes.changed, changes.unchanged, kept, retired)
