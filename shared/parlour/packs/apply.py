"""A pack put in force for its tenant, in one transaction; what people changed stays as they changed it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.documents.pack_import import mark_documents_not_in_pack
from parlour.infra import log
from parlour.infra.errors import Conflict, InvalidPack, InvalidRequest, NotFound, PackProblem
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.packs import (
    address_check,
    budget_check,
    built_in_tools,
    built_in_types,
    drafts,
    item_writing,
    pack_warnings,
    plan,
    store,
)
from parlour.packs.format import Pack
from parlour.packs.item_writing import ApplyCounts
from parlour.packs.items import Digests, ItemId, ItemKind, Items, digest_fields
from parlour.packs.merge import Decisions, ItemChange, Merge, merge
from parlour.packs.store import AppliedChange
from parlour.packs.tenant_state import StoredTenant, read_tenant
from parlour.principal import Principal
from parlour.records import type_registry
from parlour.search.index.embedders import Embedder, embed_texts, space_name
from parlour.tenancy import audit, routing_keys, tenants
from parlour.tenancy.roles import require_role
from parlour.tenancy.routing_keys import NO_POLICY, RoutePolicy
from parlour.text import token_counter
from parlour.text.spelling_suggestions import did_you_mean
from parlour.tools.addresses import PrivateHosts


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """How a pack is applied.

    decisions  what wins where people changed what the pack says.
    prune      delete what an earlier pack brought and this one does not have.
    dry_run    write nothing.
    routes     which hosts and numbers the tenant may claim.
    private_hosts  what its tools may reach besides public hosts; None checks no address of a tool.
    """

    decisions: Decisions = Decisions()  # noqa: RUF009 - frozen
    prune: bool = False
    dry_run: bool = False
    routes: RoutePolicy = NO_POLICY
    private_hosts: PrivateHosts | None = None


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """What an apply did, or would do: counts by kind (tenant, those of `ConfigKind`, entity, edge, document), each
    change, what stays although the pack says something else, what the pack probably does not mean, and the hosts and
    numbers that wait for the operator."""

    tenant_id: UUID
    tenant_slug: str
    counts: Mapping[str, ApplyCounts]
    merge: Merge
    warnings: Sequence[PackProblem]
    waiting_routes: Sequence[str] = ()

    @property
    def not_in_pack(self) -> list[str]:
        """Handles of what an earlier pack brought, this one does not have, and stays."""
        return [item.handle for item in self.merge.not_in_pack]

    @property
    def has_changes(self) -> bool:
        """Whether anything was written."""
        return any(tally.created or tally.changed or tally.retired or tally.deleted for tally in self.counts.values())

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
    options: ApplyOptions = ApplyOptions(),
) -> ApplyResult:
    """Make the principal's tenant what `pack` says, except for what people changed.

    The role admin is needed. An operator whose `tenant_id` names no tenant yet makes it. Rows are found by
    slug, name or key and keep their ids; each changed part of the configuration gets its next version. Applying the
    same pack again writes and embeds nothing.

    What is missing from the pack: bindings are switched off and their routing keys released, since a pack
    says whom the tenant answers as. Everything else stays, unless the options prune it.

    Bindings whose layers 0 and 1 exceed their agent's profile are refused; `count_tokens` is text to tokens, None
    does not check.

    Raises:
        Forbidden: also for a binding that would show more than the principal may see.
        InvalidPack: something is too large, or a tool is at an address that is never called.
        InvalidRequest: a decision about an unknown item, or a host of the deployment itself.
        NotFound: there is no such tenant.
        Conflict: the pack or a routing key belongs to another tenant, or another apply came in between.

    What the embedder raises passes. Whatever it raises, nothing was written.
    """
    require_role(principal, "admin")
    own_types, pack = pack.entity_types.keys(), built_in_tools.add_built_in_tools(pack)
    problems = list(budget_check.find_budget_problems(pack, count_tokens)) if count_tokens else []
    if options.private_hosts is not None:
        problems += address_check.find_address_problems(pack, options.private_hosts)
    if problems:
        raise InvalidPack(problems)
    warned = pack_warnings.find_warnings(pack)
    space = space_name(embedder)
    with database.transaction(principal) as tx:
        _check_tenant(principal, pack, tenants.find_own_tenant(tx))
        pack = built_in_types.add_built_in_types(pack, type_registry.list_pack_record_types(tx))
        wanted = drafts.wanted_items(pack)
        stored = read_tenant(principal, tx, wanted)
        merged = _merge(wanted, stored, options)
        if options.dry_run:
            return ApplyResult(principal.tenant_id, pack.tenant.slug, _count(wanted, stored, merged), merged, warned)
        built_in = pack.entity_types.keys() - own_types
        writing = item_writing.prepare(tx, merged.targets, stored, space, built_in)
    vectors = embed_texts(embedder, writing.texts_to_embed)
    with database.transaction(principal) as tx:
        store.lock_tenant(tx)
        _check_tenant(principal, pack, tenants.find_own_tenant(tx))
        stored = read_tenant(principal, tx, wanted)
        again = _merge(wanted, stored, options)
        if again != merged:
            merged, writing = again, item_writing.prepare(tx, again.targets, stored, space, built_in)
        counts = item_writing.write(principal, tx, writing, vectors, stored, now, options.routes)
        mark_documents_not_in_pack(tx, list(pack.documents), now)
        all_counts = _with_items_that_stay(counts, merged)
        waiting = [claim.key for claim in routing_keys.list_waiting_claims(tx)]
        result = ApplyResult(principal.tenant_id, pack.tenant.slug, all_counts, merged, warned, waiting)
        save_merge(principal, tx, wanted, merged, stored, now)
        if result.has_changes:
            # A handle names what only some may see: the trail says only how many are not in the pack.
            target = f"tenant:{principal.tenant_id}"
            audit.add_entry(principal, tx, "pack.applied", target, result.audit_details(), now)
    log.info("pack_applied", tenant_id=principal.tenant_id, changed=result.has_changes)
    return result


def _check_tenant(principal: Principal, pack: Pack, tenant: tenants.Tenant | None) -> None:
    if tenant is None and principal.kind != "operator":
        raise NotFound(
            f"tenant {principal.tenant_id} not found; the deployment's operator creates it with its first pack"
        )
    if tenant is not None and tenant.slug != pack.tenant.slug:
        raise Conflict(f"this pack is for tenant '{pack.tenant.slug}', but you are signed in to '{tenant.slug}'")


def _merge(wanted: Items, stored: StoredTenant, options: ApplyOptions) -> Merge:
    """Merge, after a check that each decision names an item."""
    handles = {item.handle for item in {*wanted, *stored.state.current}} - {
        item.handle for item in stored.state.hidden - wanted.keys()
    }
    for handle, _ in options.decisions.choices:
        if handle not in handles:
            raise InvalidRequest(f"decisions: unknown item '{handle}'{did_you_mean(handle, handles)}")
    return merge(wanted, stored.state, options.decisions, prune=options.prune)


def _count(wanted: Items, stored: StoredTenant, merged: Merge) -> dict[str, ApplyCounts]:
    """Return the counts that an apply would give."""
    done = Counter((change.item.kind, change.action) for change in merged.changes)
    present = Counter(item.kind for item in merged.writes if item in wanted)
    others = Counter(item.kind for item in stored.state.current if item not in wanted and item not in merged.targets)
    kinds: tuple[ItemKind, ...] = ("tenant", *plan.WRITE_ORDER, "entity", "edge", "document")
    counts = {
        kind: ApplyCounts(
            created=(created := done[kind, "created"]),
            changed=(changed := done[kind, "changed"]),
            unchanged=present[kind] - created - changed,
            kept=others[kind] if kind in plan.WRITE_ORDER else 0,
            retired=done[kind, "switched_off"],
            deleted=done[kind, "deleted"],
        )
        for kind in kinds
    }
    return _with_items_that_stay(counts, merged)


def _with_items_that_stay(counts: Mapping[ItemKind, ApplyCounts], merged: Merge) -> dict[str, ApplyCounts]:
    """Return the counts with the records, links and documents that are in no pack any more and stay."""
    stay = Counter(item.kind for item in merged.not_in_pack)
    return {
        kind: replace(one, kept=stay[kind]) if kind in {"entity", "edge", "document"} else one
        for kind, one in counts.items()
    }


def save_merge(
    principal: Principal, tx: Transaction, wanted: Items, merged: Merge, stored: StoredTenant, now: datetime
) -> None:
    """Store what the pack wanted, and what was there before."""
    state = stored.state
    applied = {
        item: new
        for item, new in merged.applied.items()
        if new != state.applied.get(item) or (item in wanted and item in state.left_pack)
    }
    store.save_applied_items(tx, applied)
    stay = [item for item in state.applied if item not in wanted and merged.applied.get(item, {}) is not None]
    store.mark_items_left(tx, [item for item in stay if item not in state.left_pack])
    if merged.changes:
        actions = {change.item: change for change in merged.changes}
        rows = [
            _applied_change(item, actions.get(item), merged, stored) for item in dict.fromkeys([*actions, *applied])
        ]
        store.add_apply(tx, uuid7(now), principal.name, now, rows)


def _applied_change(item: ItemId, change: ItemChange | None, merged: Merge, stored: StoredTenant) -> AppliedChange:
    """Return the change with what it replaced; without a change only the digests are new."""
    applied_before, record_id = stored.state.applied.get(item), stored.record_ids.get(item)
    if change is None:
        return AppliedChange(item.kind, item.name, record_id, {}, {}, applied_before)
    current, target = stored.state.current.get(item), merged.targets[item]
    if current is None or target is None:
        after = digest_fields(target) if target is not None else None
        return AppliedChange(item.kind, item.name, record_id, current, after, applied_before)
    before = {name: current[name] for name in change.fields if name in current}
    new: Digests = digest_fields({name: target[name] for name in change.fields if name in target})
    return AppliedChange(
        item.kind, item.name, record_id, before, {name: new.get(name, "") for name in change.fields}, applied_before
    )
