from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from parlour.infra.errors import Conflict, Forbidden, InvalidPack, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.item_writing import ApplyCounts
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.tenancy import audit, bindings, roles, routing_keys, tenants
from tests.integration.config_versions import history
from tests.integration.packs.conftest import ApplyFunction, CountingEmbedder
from tests.unit.packs.sample_pack import SMALL_PACK, with_edit, without_files

type Count = Callable[[Principal, str], int]

TABLES = (
    *("tenants", "secrets", "humans", "teams", "agents", "tools", "entity_types", "bindings", "routing_keys"),
    *("entities", "edges", "documents", "context_rows", "embeddings", "config_versions", "audit_log"),
)


def test_a_first_pack_makes_the_tenant_and_everything_in_it(
    apply_pack: ApplyFunction, database: Database, operator: Principal, count: Count
) -> None:
    applied = apply_pack(SMALL_PACK)

    assert applied.has_changes
    assert applied.counts["team"] == ApplyCounts(created=2)
    assert applied.counts["entity"] == ApplyCounts(created=2)
    tenant = tenants.find_tenant_by_slug(database, "acme")
    assert tenant is not None
    assert tenant.tenant_id == applied.tenant_id == operator.tenant_id
    assert {table: count(operator, table) for table in TABLES if count(operator, table) == 0} == {}


def test_the_persona_is_what_the_pack_says(apply_pack: ApplyFunction, database: Database, operator: Principal) -> None:
    apply_pack(SMALL_PACK)

    with database.transaction(operator) as tx:
        (binding,) = bindings.list_active_bindings(tx)
        persona = bindings.load_persona(tx, binding.id)

    assert persona is not None
    assert persona.human.languages == ("en", "hi")
    assert persona.human.guardrails == ({"id": "no-guessing", "text": "Never guess."},)
    assert persona.team.sops == ("Greet first.", "Then answer.")
    assert persona.agent.model_routing["default"] == {"provider": "anthropic", "model": "claude-sonnet-5-5"}
    assert persona.binding.clearance == 1


def test_routing_keys_lead_to_the_binding(apply_pack: ApplyFunction, database: Database, operator: Principal) -> None:
    apply_pack(SMALL_PACK)

    with database.transaction(None) as tx:
        phone, web = (
            routing_keys.find_routing_key(tx, "gupshup:AcmeGate"),
            routing_keys.find_routing_key(tx, "web:acme.example"),
        )

    assert phone is not None
    assert web is not None
    assert phone.tenant_id == operator.tenant_id
    assert phone.binding_id == web.binding_id is not None


def test_applying_again_writes_and_embeds_nothing(
    apply_pack: ApplyFunction, operator: Principal, count: Count, embedder: CountingEmbedder
) -> None:
    apply_pack(SMALL_PACK)
    before = {table: count(operator, table) for table in TABLES}
    embedder.texts.clear()

    again = apply_pack(SMALL_PACK)

    assert not again.has_changes
    assert {kind for kind, tally in again.counts.items() if not tally.unchanged} == set()
    assert {table: count(operator, table) for table in TABLES} == before
    assert embedder.texts == []


def test_one_sentence_of_a_persona_makes_exactly_one_new_version(
    apply_pack: ApplyFunction, database: Database, operator: Principal, count: Count, embedder: CountingEmbedder
) -> None:
    apply_pack(SMALL_PACK)
    before = {table: count(operator, table) for table in TABLES}
    embedder.texts.clear()

    applied = apply_pack(with_edit("humans/mira.yaml", "You help at the gate.", "You help at the north gate."))

    assert applied.counts["human"] == ApplyCounts(changed=1)
    after = {table: count(operator, table) for table in TABLES}
    assert {table: after[table] - before[table] for table in TABLES if after[table] != before[table]} == {
        "config_versions": 1,
        "audit_log": 1,
    }
    assert embedder.texts == []
    with database.transaction(operator) as tx:
        persona = bindings.load_persona(tx, bindings.list_active_bindings(tx)[0].id)
        assert persona is not None
        kept = history(tx, persona.human.id)
    assert persona.human.identity.endswith("north gate.")
    assert [(one.version, one.config["identity"]) for one in kept] == [
        (2, "You are Mira. You help at the north gate."),
        (1, "You are Mira. You help at the gate."),
    ]


def test_ids_stay_when_things_change(apply_pack: ApplyFunction, database: Database, operator: Principal) -> None:
    apply_pack(SMALL_PACK)
    with database.transaction(operator) as tx:
        before = bindings.list_active_bindings(tx)[0]

    apply_pack(with_edit("bindings/front.yaml", "display_name: Front desk", "display_name: Main desk"))

    with database.transaction(operator) as tx:
        after = bindings.list_active_bindings(tx)[0]
    assert (after.id, after.human_id, after.version) == (before.id, before.human_id, before.version + 1)


def test_a_binding_that_leaves_the_pack_is_switched_off_and_comes_back_as_it_was(
    apply_pack: ApplyFunction, database: Database, operator: Principal
) -> None:
    apply_pack(SMALL_PACK)
    with database.transaction(operator) as tx:
        before = bindings.list_active_bindings(tx)[0]

    gone = apply_pack(without_files("bindings/front.yaml"))

    assert gone.counts["binding"] == ApplyCounts(retired=1)
    with database.transaction(operator) as tx:
        assert bindings.list_active_bindings(tx) == []
        assert routing_keys.find_routing_key(tx, "web:acme.example") is None
        assert routing_keys.find_routing_key(tx, "tenant:acme") is not None
    assert not apply_pack(without_files("bindings/front.yaml")).has_changes

    apply_pack(SMALL_PACK)

    with database.transaction(operator) as tx:
        after = bindings.list_active_bindings(tx)[0]
        route = routing_keys.find_routing_key(tx, "web:acme.example")
    assert (after.id, after.version) == (before.id, 3)
    assert route is not None
    assert route.binding_id == before.id


def test_a_changed_host_moves_the_routing_key(apply_pack: ApplyFunction, database: Database) -> None:
    apply_pack(SMALL_PACK)

    apply_pack(with_edit("bindings/front.yaml", "host: acme.example", "host: new.acme.example"))

    with database.transaction(None) as tx:
        assert routing_keys.find_routing_key(tx, "web:acme.example") is None
        assert routing_keys.find_routing_key(tx, "web:new.acme.example") is not None
        assert routing_keys.find_routing_key(tx, "gupshup:AcmeGate") is not None


def test_what_else_leaves_the_pack_stays(apply_pack: ApplyFunction, operator: Principal, count: Count) -> None:
    apply_pack(SMALL_PACK)

    team = SMALL_PACK["teams/gate.yaml"].replace("Greet first.", "Say hello.")
    applied = apply_pack(without_files("documents/rules.md", "teams/office.yaml") | {"teams/gate.yaml": team})

    assert applied.counts["team"] == ApplyCounts(changed=1, kept=1)
    assert applied.counts["document"] == ApplyCounts(unchanged=1, kept=1)
    assert count(operator, "documents") == 2
    assert count(operator, "teams") == 2


def test_a_changed_document_embeds_only_what_changed(apply_pack: ApplyFunction, embedder: CountingEmbedder) -> None:
    apply_pack(SMALL_PACK)
    embedder.texts.clear()

    applied = apply_pack(with_edit("documents/rules.md", "18:00", "19:00"))

    assert applied.counts["document"] == ApplyCounts(changed=1, unchanged=1)
    assert len(embedder.texts) == 1
    assert "19:00" in embedder.texts[0]


def test_a_new_template_writes_the_records_snapshots_anew(
    apply_pack: ApplyFunction, embedder: CountingEmbedder
) -> None:
    apply_pack(SMALL_PACK)
    embedder.texts.clear()

    applied = apply_pack(with_edit("entity_types/site.yaml", "is {{status}} since", "has been {{status}} since"))

    assert applied.counts["entity_type"] == ApplyCounts(changed=1)
    assert len(embedder.texts) == 2


def test_an_agent_that_names_the_built_in_tool_gets_it(
    apply_pack: ApplyFunction, database: Database, operator: Principal
) -> None:
    files = with_edit("agents/helper.yaml", "[look_up]", "[search_knowledge]")

    assert apply_pack(files).counts["tool"] == ApplyCounts(created=2)
    assert not apply_pack(files).has_changes
    with database.transaction(operator) as tx:
        found = tx.value(Query("test.tool", "-", "SELECT endpoint FROM tools WHERE name = 'search_knowledge'"))
    assert found == "python:search_knowledge"


def test_an_apply_that_changed_something_is_in_the_audit_trail(
    apply_pack: ApplyFunction, database: Database, operator: Principal
) -> None:
    apply_pack(SMALL_PACK)

    with database.transaction(operator) as tx:
        entry = next(one for one in audit.list_entries(operator, tx, 10).rows if one.action == "pack.applied")

    assert entry.actor == "operator"
    kinds = entry.details["counts"]
    assert isinstance(kinds, dict)
    assert kinds["binding"] == {"created": 1, "changed": 0, "unchanged": 0, "kept": 0, "retired": 0, "deleted": 0}


def member(tenant_id: UUID, *held: str, clearance: int = 3) -> Principal:
    return Principal(tenant_id, "member", UUID(int=7), frozenset(held), clearance)


@pytest.mark.parametrize("held", [(), ("viewer",)])
def test_only_administrators_apply(
    held: tuple[str, ...],
    apply_pack: ApplyFunction,
    database: Database,
    operator: Principal,
    now: datetime,
) -> None:
    apply_pack(SMALL_PACK)

    with pytest.raises(Forbidden):
        apply(member(operator.tenant_id, *held), database, CountingEmbedder(), validate(SMALL_PACK), now)


def test_an_administrator_applies_to_their_own_tenant_only(
    apply_pack: ApplyFunction, database: Database, operator: Principal, now: datetime
) -> None:
    apply_pack(SMALL_PACK)
    admin, embedder = member(operator.tenant_id, "admin"), CountingEmbedder()

    assert not apply(admin, database, embedder, validate(SMALL_PACK), now + timedelta(hours=1)).has_changes
    with pytest.raises(Conflict, match="you are signed in to"):
        apply(admin, database, embedder, validate(renamed("other")), now)
    with pytest.raises(NotFound):
        apply(member(uuid7(now), "admin"), database, embedder, validate(renamed("new")), now)


def test_nobody_opens_a_door_to_more_than_they_may_see(
    apply_pack: ApplyFunction, database: Database, operator: Principal, now: datetime
) -> None:
    apply_pack(SMALL_PACK)
    pack = validate(with_edit("bindings/front.yaml", "clearance: internal", "clearance: restricted"))

    with pytest.raises(Forbidden, match="binding front would have the clearance restricted, but yours is internal"):
        apply(member(operator.tenant_id, "admin", clearance=1), database, CountingEmbedder(), pack, now)

    assert apply(member(operator.tenant_id, "admin"), database, CountingEmbedder(), pack, now).has_changes


def renamed(slug: str) -> dict[str, str]:
    """The sample as another tenant's, with the same routing keys."""
    return {**SMALL_PACK, "tenant.yaml": SMALL_PACK["tenant.yaml"].replace("acme", slug)}


def apart(slug: str) -> dict[str, str]:
    """The sample as another tenant's, with routing keys of its own."""
    binding = (
        SMALL_PACK["bindings/front.yaml"].replace("AcmeGate", f"{slug}Gate").replace("acme.example", f"{slug}.example")
    )
    return {**renamed(slug), "bindings/front.yaml": binding}


def test_another_tenants_routing_key_is_refused_and_nothing_is_applied(
    apply_pack: ApplyFunction, database: Database, count: Count, now: datetime
) -> None:
    apply_pack(SMALL_PACK)
    rival = roles.operator_principal(uuid7(now))

    with pytest.raises(Conflict, match="gupshup:AcmeGate"):
        apply(rival, database, CountingEmbedder(), validate(renamed("rival")), now)

    assert tenants.find_tenant_by_slug(database, "rival") is None
    assert {table: rows for table in TABLES if (rows := count(rival, table))} == {}


def test_a_slug_that_is_taken_is_refused(
    apply_pack: ApplyFunction, database: Database, count: Count, now: datetime
) -> None:
    apply_pack(SMALL_PACK)
    rival = roles.operator_principal(uuid7(now))

    with pytest.raises(Conflict, match="tenant:acme"):
        apply(rival, database, CountingEmbedder(), validate(SMALL_PACK), now)

    assert {table: rows for table in TABLES if (rows := count(rival, table))} == {}


def test_another_tenant_is_not_touched(
    apply_pack: ApplyFunction, database: Database, operator: Principal, count: Count, now: datetime
) -> None:
    apply_pack(SMALL_PACK)
    before = {table: count(operator, table) for table in TABLES}
    neighbour = roles.operator_principal(uuid7(now))

    apply(neighbour, database, CountingEmbedder(), validate(apart("beta")), now)
    apply(neighbour, database, CountingEmbedder(), validate(without_binding("beta")), now)

    assert {table: count(operator, table) for table in TABLES} == before
    assert not apply_pack(SMALL_PACK).has_changes
    with database.transaction(None) as tx:
        assert routing_keys.find_routing_key(tx, "web:acme.example") is not None
        assert routing_keys.find_routing_key(tx, "web:beta.example") is None


def without_binding(slug: str) -> dict[str, str]:
    return {path: text for path, text in apart(slug).items() if not path.startswith("bindings/")}


def test_a_failing_embedder_leaves_nothing_behind(
    database: Database, operator: Principal, count: Count, now: datetime
) -> None:
    class Broken(CountingEmbedder):
        def embed(self, texts: object, /) -> list[list[float]]:
            raise ConnectionError

    with pytest.raises(ConnectionError):
        apply(operator, database, Broken(), validate(SMALL_PACK), now)

    assert {table: rows for table in TABLES if (rows := count(operator, table))} == {}


def test_layers_that_are_too_large_are_refused(database: Database, operator: Principal, now: datetime) -> None:
    with pytest.raises(InvalidPack) as caught:
        apply(
            operator,
            database,
            CountingEmbedder(),
            validate(SMALL_PACK),
            now,
            count_tokens=lambda text: 50 * len(text),
        )

    assert caught.value.problems[0].file == "bindings/front.yaml"
    assert tenants.find_tenant_by_slug(database, "acme") is None


def test_the_number_of_statements_does_not_grow_with_records_and_documents(
    apply_pack: ApplyFunction, database: Database
) -> None:
    apply_pack(SMALL_PACK)
    started = database.statements.count
    apply_pack(SMALL_PACK)
    few = database.statements.count - started
    many = {f"documents/{n}.md": f"---\ntitle: Note {n}\n---\n\nNumber {n}.\n" for n in range(50)}

    apply_pack(SMALL_PACK | many)
    started = database.statements.count
    apply_pack(SMALL_PACK | many)

    assert database.statements.count - started == few


def test_the_example_pack_applies_twice(database: Database, operator: Principal, count: Count, now: datetime) -> None:
    pack, embedder = validate(folder.read_folder(Path("packs/construction"))), CountingEmbedder()

    first = apply(operator, database, embedder, pack, now)
    spent = len(embedder.texts)
    second = apply(operator, database, embedder, replace(pack), now)

    assert first.counts["entity"].created == len(pack.records)
    assert first.counts["document"].created == len(pack.documents)
    assert not second.has_changes
    assert len(embedder.texts) == spent
    assert count(operator, "embeddings") == count(operator, "context_rows") - len(pack.records)


def test_two_applies_at_once_end_in_two_versions(
    apply_pack: ApplyFunction,
    open_database: Callable[[], Database],
    database: Database,
    operator: Principal,
    now: datetime,
) -> None:
    apply_pack(SMALL_PACK)
    greetings = ("You help at the north gate.", "You help at the south gate.")
    packs = [validate(with_edit("humans/mira.yaml", "You help at the gate.", text)) for text in greetings]
    connections = [open_database() for _ in packs]

    def one(index: int) -> bool:
        return apply(operator, connections[index], CountingEmbedder(), packs[index], now).has_changes

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(one, range(2))) == [True, True]

    with database.transaction(operator) as tx:
        persona = bindings.load_persona(tx, bindings.list_active_bindings(tx)[0].id)
        assert persona is not None
        assert [kept.version for kept in history(tx, persona.human.id)] == [3, 2, 1]
