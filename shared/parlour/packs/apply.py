"""A pack put in force for its tenant, in one transaction."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parlour.context import tokens
from parlour.infra import log
from parlour.infra.errors import Conflict, Forbidden, InvalidPack, NotFound
from parlour.infra.ids import NewId
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.knowledge.documents.documents import left_documents, prepare_documents, write_documents
from parlour.knowledge.index.embed import Embedder, embed_texts, space
from parlour.knowledge.records import backfill, registry
from parlour.knowledge.records.changes import Changes
from parlour.knowledge.records.definition import is_told_anew
from parlour.knowledge.records.drafts import left_entities, prepare_entities, write_entities
from parlour.knowledge.records.edges import write_edges
from parlour.models import spend
from parlour.packs import built_in, built_in_kinds, drafts, plan, store, weigh
from parlour.packs.format import Pack
from parlour.packs.plan import Kind, Plan, Stored
from parlour.principal import LEVELS, Principal, system
from parlour.tenancy import audit, routes, tenants, versions
from parlour.tenancy.roles import require

MOST_NAMED = 100
"""How many of the records and documents that are kept are named; all of them are counted."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of one kind of thing: counts.

    kept: stored, not in the pack, left as it is; retired: bindings that are not in the pack, switched off.
    """

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    kept: int = 0
    retired: int = 0


@dataclass(frozen=True, slots=True)
class Applied:
    """What an apply did, by kind: tenant, those of `plan.Kind`, entity, edge, document; and the handles of records and
    documents that an earlier pack brought, this one does not have, and that are kept."""

    tenant_id: UUID
    tenant_slug: str
    kinds: Mapping[str, Tally]
    left: Sequence[str] = ()

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return any(tally.created or tally.changed or tally.retired for tally in self.kinds.values())

    def to_json(self) -> JsonObject:
        """The same as JSON: what the API answers."""
        kinds: JsonObject = {kind: _counts(tally) for kind, tally in self.kinds.items()}
        left: list[Json] = [*self.left[:MOST_NAMED]]
        return {"tenant": self.tenant_slug, "changed": self.changed, "kinds": kinds, "left": left}


def apply(
    principal: Principal,
    database: Database,
    embedder: Embedder,
    pack: Pack,
    now: datetime,
    new_id: NewId,
    measure: Callable[[str], int] | None = tokens.count,
) -> Applied:
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
    require(principal, "admin")
    said, pack = pack.entity_types.keys(), built_in.added(pack)
    _refuse_too_large(pack, measure)
    where = space(embedder)
    records, texts = drafts.entities(pack), drafts.documents(pack)
    with database.transaction(principal) as tx:
        _check_tenant(principal, pack, tenants.get(tx))
        pack = built_in_kinds.added(pack, registry.defined(tx))
        entities = prepare_entities(tx, records, drafts.record_types(pack), where)
        documents = prepare_documents(tx, texts, where)
    vectors = embed_texts(embedder, [*entities.texts, *documents.texts])
    with database.transaction(principal) as tx:
        kinds = {"tenant": _write_tenant(principal, tx, pack, now, new_id)}
        kinds |= _write_configuration(principal, tx, pack, pack.entity_types.keys() - said, now, new_id)
        left = left_entities(tx, records), left_documents(tx, texts)
        kinds["entity"] = _tally(write_entities(principal, tx, entities, vectors, now, new_id), len(left[0]))
        kinds["edge"] = _tally(write_edges(principal, tx, drafts.edges(pack), now, new_id))
        kinds["document"] = _tally(write_documents(principal, tx, documents, vectors, now, new_id), len(left[1]))
        applied = Applied(principal.tenant_id, pack.tenant.slug, kinds, [*left[0], *left[1]])
        if applied.changed:
            _keep_in_trail(principal, tx, applied, now, new_id)
    log.info("pack_applied", tenant_id=principal.tenant_id, changed=applied.changed)
    return applied


def _keep_in_trail(principal: Principal, tx: Transaction, applied: Applied, now: datetime, new_id: NewId) -> None:
    """A handle names what only some may see: whoever reads the trail is told how many were kept."""
    details: JsonObject = {**applied.to_json(), "left": len(applied.left)}
    audit.record(principal, tx, "pack.applied", f"tenant:{principal.tenant_id}", details, now, new_id)


def _refuse_too_large(pack: Pack, measure: Callable[[str], int] | None) -> None:
    problems = list(weigh.problems(pack, measure)) if measure else []
    if problems:
        raise InvalidPack(problems)


def _check_tenant(principal: Principal, pack: Pack, tenant: tenants.Tenant | None) -> None:
    if tenant is None and principal.kind != "operator":
        raise NotFound(
            f"there is no tenant {principal.tenant_id}; the deployment's operator makes one with its first pack"
        )
    if tenant is not None and tenant.slug != pack.tenant.slug:
        raise Conflict(f"this pack is for the tenant {pack.tenant.slug}, and you act in {tenant.slug}; sign in there")


def _check_clearance(principal: Principal, plans: Sequence[Plan]) -> None:
    """Whoever opens a door sees through it: nobody gives a binding more clearance than their own."""
    for part in (part for one in plans if one.kind == "binding" for part in one.writes):
        given = part.config["clearance"]
        if isinstance(given, int) and given > principal.clearance and part.config["is_active"]:
            levels = f"the clearance {LEVELS[given]}, and yours is {LEVELS[principal.clearance]}"
            raise Forbidden(f"binding {part.name} would have {levels}; ask somebody who may see as much")


def _write_tenant(principal: Principal, tx: Transaction, pack: Pack, now: datetime, new_id: NewId) -> Tally:
    store.lock_tenant(tx)
    tenant, name = tenants.get(tx), pack.tenant.display_name
    _check_tenant(principal, pack, tenant)
    if tenant is None:
        slug = pack.tenant.slug
        settings = drafts.settings(pack, {})
        tenants.create(principal, tx, slug=slug, display_name=name, settings=settings, now=now, new_id=new_id)
        _write_cap(principal, tx, pack, now)
        return Tally(created=1)
    settings = drafts.settings(pack, tenant.settings)
    changed = tenants.update(principal, tx, display_name=name, settings=settings, now=now, new_id=new_id)
    changed = _write_cap(principal, tx, pack, now) or changed
    return Tally(changed=1) if changed else Tally(unchanged=1)


def _write_cap(principal: Principal, tx: Transaction, pack: Pack, now: datetime) -> bool:
    """A pack that says nothing of a cap leaves it to whoever set it last."""
    cap = pack.tenant.daily_cap_usd
    return cap is not None and spend.set_cap(principal, tx, Decimal(str(cap)), now)


def _write_configuration(
    principal: Principal, tx: Transaction, pack: Pack, ours: Set[str], now: datetime, new_id: NewId
) -> dict[str, Tally]:
    """`ours`: the kinds of record that the pack does not say itself."""
    known = store.configuration(tx)
    plans = plan.plan(pack, known, now, new_id)
    _check_clearance(principal, plans)
    ids = plan.ids(known, plans)
    for one in plans:
        store.put(tx, one.kind, one.writes, ids, now)
        _record_versions(principal, tx, one, ours, now, new_id)
    _have_told_anew(tx, plans, known, now)
    _write_routes(tx, pack, ids)
    return {one.kind: _tally(one.changes, one.kept, one.retired) for one in plans}


def _have_told_anew(
    tx: Transaction, plans: Sequence[Plan], known: Mapping[tuple[Kind, str], Stored], now: datetime
) -> None:
    """Records are described by the type they have: where that changed, those that are not in the pack follow."""
    for part in (part for one in plans if one.kind == "entity_type" for part in one.writes):
        before = known.get((part.kind, part.name))
        if before and is_told_anew(before.config, part.config):
            backfill.mark(tx, part.id, now)


def _record_versions(
    principal: Principal, tx: Transaction, done: Plan, ours: Set[str], now: datetime, new_id: NewId
) -> None:
    """Secrets have no versions: which reference was in force when is in the audit trail's time, never a value."""
    if done.kind == "secret":
        return
    for part in done.writes:
        by = system(principal.tenant_id) if done.kind == "entity_type" and part.name in ours else principal
        versions.record(by, tx, done.kind, part.id, part.version, part.config, now, new_id)


def _write_routes(tx: Transaction, pack: Pack, ids: Mapping[tuple[Kind, str], UUID]) -> None:
    """Give up the keys that the pack does not have, then take those that lead elsewhere or nowhere."""
    wanted = {
        key: ids["binding", slug] for slug, binding in pack.bindings.items() for key in drafts.routing_keys(binding)
    }
    held = {route.key: route.binding_id for route in routes.mine(tx) if route.binding_id}
    if held.keys() - wanted.keys():
        routes.release_missing(tx, wanted)
    for key, binding_id in sorted(wanted.items()):
        if held.get(key) != binding_id:
            routes.claim(tx, key, binding_id)


def _tally(changes: Changes, kept: int = 0, retired: int = 0) -> Tally:
    return Tally(changes.created, changes.changed, changes.unchanged, kept, retired)


def _counts(tally: Tally) -> JsonObject:
    return {
        "created": tally.created,
        "changed": tally.changed,
        "unchanged": tally.unchanged,
        "kept": tally.kept,
        "retired": tally.retired,
    }
