"""The part of the working day in which packs meet what people changed: applied, pruned and undone."""

from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from parlour.documents import catalogue
from parlour.infra.postgres import Transaction
from parlour.packs import folder
from parlour.packs.apply import ApplyOptions, ApplyResult, apply
from parlour.packs.export import export
from parlour.packs.status import read_status
from parlour.packs.undo import undo_apply
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.records import record_links
from parlour.tenancy import bindings, routing_keys, store
from parlour.tenancy.routing_keys import NO_POLICY
from tests.conversation_harness import ConversationHarness, WordEmbedder

_PACK = folder.read_folder(Path("packs/construction"))
_DAY_HOST = "web:day.example"
_RISKS = "entities/risk.yaml"
_TOOL = """\
description: Looks permits up.
schema: {type: object, properties: {query: {type: string}}, required: [query]}
endpoint: python:search_knowledge
"""
_RECORDS = """\
- key: R-98
  name: No permit
  properties: {severity: low, state: open, owner: Asha}
  links: [{relation: relates_to, to: risk/R-03}]
- key: R-99
  name: No second permit
  properties: {severity: low, state: open, owner: Asha}
"""


def _changed(path: str, text: str) -> str:
    if path.endswith("main-works-contract.md"):
        return text.replace("delay damages", "damages for delay").rsplit("\n## ", 1)[0]
    if path.startswith(("humans/", "teams/", "agents/", "bindings/")):
        return text.replace("display_name: ", "display_name: The ")
    if path == "entities/project.yaml":
        return text.replace("name: ", "name: The ")
    return text


_CHANGED = {path: _changed(path, text) for path, text in _PACK.items()}
_EXTENDED = {
    **_CHANGED,
    _RISKS: _CHANGED[_RISKS] + _RECORDS,
    "documents/permits.md": "---\ntitle: Permits\n---\n\nA permit takes a week.\n",
    "entity_types/stamp.yaml": "display_name: Stamp\nproperties: {note: {type: text}}\n",
    "tools/find_permit.yaml": _TOOL,
}


def prune_and_undo_packs(conversation: ConversationHarness) -> None:
    """A pack grows and shrinks; what people linked stays; the prune is undone."""
    _apply(conversation, _EXTENDED)
    with conversation.database.transaction(conversation.admin) as tx:
        record_links.link(conversation.admin, tx, "risk/R-99", "risk/R-03", "part_of", conversation.clock())
    conversation.query(
        "INSERT INTO pack_applies (tenant_id, id, applied_by, applied_at) SELECT current_tenant(),"
        " ('00000000-0000-7000-8000-0000000000' || at)::uuid, 'day',"
        " now() FROM generate_series(10, 20) AS at RETURNING 1"
    )
    pruned = _apply(conversation, _CHANGED, ApplyOptions(prune=True))
    assert {item.handle for item in pruned.merge.not_deleted} == {"risk/R-99"}
    assert {one.item.handle for one in pruned.merge.changes} >= {"entity_type/stamp", "tool/find_permit"}
    undone = undo_apply(conversation.admin, conversation.database, WordEmbedder(), conversation.clock()).undo
    assert undone.not_restored == []
    assert read_status(conversation.admin, conversation.database).applies
    _apply(conversation, _CHANGED, ApplyOptions(prune=True))


def reapply_pack(conversation: ConversationHarness) -> None:
    """The pack is changed in every place and applied again, and read back."""
    assert export(conversation.admin, conversation.database)
    _apply(conversation, _CHANGED)
    _apply(conversation, {path: text for path, text in _CHANGED.items() if not path.endswith("crane-signals.txt")})
    with conversation.database.transaction(conversation.admin) as tx:
        (binding, *_) = bindings.list_active_bindings(tx)
        assert bindings.find_binding_by_slug(tx, binding.slug)
        assert bindings.find_web_binding(tx, "site-adviser")
        assert routing_keys.list_own_keys(tx)
        assert catalogue.get_document(conversation.admin, tx, "contracts/main-works-contract.md")
        routing_keys.release_keys_except(
            tx,
            [route.key for route in routing_keys.list_own_keys(tx) if "contracts" not in route.key],
            conversation.clock(),
        )


def claim_routes(conversation: ConversationHarness) -> None:
    """Hosts and numbers are claimed, accepted, given up and had again."""
    administrator = Principal(conversation.tenant_id, "member", UUID(int=1), frozenset({"admin"}), clearance=1)
    run, now, operator = conversation.database.run, conversation.clock(), conversation.admin
    ((binding,),) = conversation.query("SELECT id FROM bindings WHERE slug = 'site-desk'")
    binding_id = UUID(str(binding))

    def claim(tx: Transaction) -> None:
        assert routing_keys.request_key(administrator, tx, _DAY_HOST, binding_id, NO_POLICY, now)
        routing_keys.release_keys_except(tx, {route.key for route in routing_keys.list_own_keys(tx)} - {_DAY_HOST}, now)
        assert routing_keys.request_key(administrator, tx, _DAY_HOST, binding_id, NO_POLICY, now)
        store.release_routing_key(tx, _DAY_HOST)
        for key in ("web:night.example", "whatsapp:10472", "whatsapp:10473"):
            store.save_routing_claim(tx, key, binding_id, now)

    run(administrator, claim)
    assert run(None, lambda tx: routing_keys.list_waiting_routes(tx, 5))
    assert run(operator, routing_keys.list_waiting_claims)
    run(operator, lambda tx: routing_keys.accept_claim(operator, tx, "web:night.example", NO_POLICY, now))
    run(operator, lambda tx: routing_keys.drop_waiting_claims_except(tx, ["whatsapp:10472"]))


def rename_risk_by_pack(conversation: ConversationHarness) -> None:
    """The pack changes a record that calls changed, too."""
    risks = _CHANGED[_RISKS].replace("name: River-bank", "name: The river-bank")
    (change,) = _apply(conversation, {**_CHANGED, _RISKS: risks}).merge.changes
    assert (change.item.handle, change.fields) == ("risk/R-05", ("name",))


def _apply(
    conversation: ConversationHarness, files: Mapping[str, str], options: ApplyOptions | None = None
) -> ApplyResult:
    now = conversation.clock()
    return apply(
        conversation.admin,
        conversation.database,
        WordEmbedder(),
        validate(files),
        now,
        options=options or ApplyOptions(),
    )
