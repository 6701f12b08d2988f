from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from parlour.infra.errors import Conflict, Forbidden, InvalidPack, NotFound
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.packs import folder
from parlour.packs.apply import Tally, apply
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.tenancy import audit, bindings, roles, routes, tenants, versions
from tests.integration.packs.conftest import Apply, CountingEmbedder
from tests.unit.packs.sample import SMALL, edited, without

type Count = Callable[[Principal, str], int]
type NewId = Callable[[datetime], UUID]

TABLES = (
    *("tenants", "secrets", "humans", "teams", "team_members", "agents", "tools", "entity_types", "bindings", "routes"),
    *("entities", "edges", "documents", "context_rows", "embeddings", "config_versions", "audit_log"),
)


def test_a_first_pack_makes_the_tenant_and_everything_in_it(
    apply_pack: Apply, database: Database, operator: Principal, count: Count
) -> None:
    applied = apply_pack(SMALL)

    assert applied.changed
    assert applied.kinds["team"] == Tally(created=2)
    assert applied.kinds["entity"] == Tally(created=2)
    tenant = tenants.by_slug(database, "acme")
    assert tenant is not None
    assert tenant.tenant_id == applied.tenant_id == operator.tenant_id
    assert {table: count(operator, table) for table in TABLES if count(operator, table) == 0} == {}


def test_the_persona_is_what_the_pack_says(apply_pack: Apply, database: Database, operator: Principal) -> None:
    apply_pack(SMALL)

    with database.transaction(operator) as tx:
        (binding,) = bindings.list_active(tx)
        persona = bindings.load(tx, binding.id)

    assert persona is not None
    assert persona.human.languages == ("en", "hi")
    assert persona.human.guardrails == ({"id": "no-guessing", "text": "Never guess."},)
    assert persona.team.sops == ("Greet first.", "Then answer.")
    assert persona.agent.model_routing["default"] == {"provider": "anthropic", "model": "claude-sonnet-5-5"}
    assert persona.binding.clearance == 1


def test_routing_keys_lead_to_the_binding(apply_pack: Apply, database: Database, operator: Principal) -> None:
    apply_pack(SMALL)

    with database.transaction(None) as tx:
        phone, web = routes.resolve(tx, "gupshup:AcmeGate"), routes.resolve(tx, "web:acme.example")

    assert phone is not None
    assert web is not None
    assert phone.tenant_id == operator.tenant_id
    assert phone.binding_id == web.binding_id is not None


def test_applying_again_writes_and_embeds_nothing(
    apply_pack: Apply, operator: Principal, count: Count, embedder: CountingEmbedder
) -> None:
    apply_pack(SMALL)
    before = {table: count(operator, table) for table in TABLES}
    embedder.texts.clear()

    again = apply_pack(SMALL)

    assert not again.changed
    assert {kind for kind, tally in again.kinds.items() if not tally.unchanged} == set()
    assert {table: count(operator, table) for table in TABLES} == before
    assert embedder.texts == []


def test_one_sentence_of_a_persona_makes_exactly_one_new_version(
    apply_pack: Apply, database: Database, operator: Principal, count: Count, embedder: CountingEmbedder
) -> None:
    apply_pack(SMALL)
    before = {table: count(operator, table) for table in TABLES}
    embedder.texts.clear()

    applied = apply_pack(edited("humans/mira.yaml", "You help at the gate.", "You help at the north gate."))

    assert applied.kinds["human"] == Tally(changed=1)
    after = {table: count(operator, table) for table in TABLES}
    assert {table: after[table] - before[table] for table in TABLES if after[table] != before[table]} == {
        "config_versions": 1,
        "audit_log": 1,
    }
    assert embedder.texts == []
    with database.transaction(operator) as tx:
        persona = bindings.load(tx, bindings.list_active(tx)[0].id)
        assert persona is not None
        kept = versions.history(tx, "human", persona.human.id)
    assert persona.human.identity.endswith("north gate.")
    assert [(one.version, one.config["identity"]) for one in kept] == [
        (2, "You are Mira. You help at the north gate."),
        (1, "You are Mira. You help at the gate."),
    ]


def test_ids_stay_when_things_change(apply_pack: Apply, database: Database, operator: Principal) -> None:
    apply_pack(SMALL)
    with database.transaction(operator) as tx:
        before = bindings.list_active(tx)[0]

    apply_pack(edited("bindings/front.yaml", "display_name: Front desk", "display_name: Main desk"))

    with database.transaction(operator) as tx:
        after = bindings.list_active(tx)[0]
    assert (after.id, after.human_id, after.version) == (before.id, before.human_id, before.version + 1)


def test_a_binding_that_leaves_the_pack_is_switched_off_and_comes_back_as_it_was(
    apply_pack: Apply, database: Database, operator: Principal
) -> None:
    apply_pack(SMALL)
    with database.transaction(operator) as tx:
        before = bindings.list_active(tx)[0]

    gone = apply_pack(without("bindings/front.yaml"))

    assert gone.kinds["binding"] == Tally(retired=1)
    with database.transaction(operator) as tx:
        assert bindings.list_active(tx) == []
        assert routes.resolve(tx, "web:acme.example") is None
        assert routes.resolve(tx, "tenant:acme") is not None
    assert not apply_pack(without("bindings/front.yaml")).changed

    apply_pack(SMALL)

    with database.transaction(operator) as tx:
        after = bindings.list_active(tx)[0]
        route = routes.resolve(tx, "web:acme.example")
    assert (after.id, after.version) == (before.id, 3)
    assert route is not None
    assert route.binding_id == before.id


def test_a_changed_host_moves_the_routing_key(apply_pack: Apply, database: Database) -> None:
    apply_pack(SMALL)

    apply_pack(edited("bindings/front.yaml", "host: acme.example", "host: new.acme.example"))

    with database.transaction(None) as tx:
        assert routes.resolve(tx, "web:acme.example") is None
        assert routes.resolve(tx, "web:new.acme.example") is not None
        assert routes.resolve(tx, "gupshup:AcmeGate") is not None


def test_what_else_leaves_the_pack_stays(apply_pack: Apply, operator: Principal, count: Count) -> None:
    apply_pack(SMALL)

    applied = apply_pack(without("documents/rules.md", "teams/office.yaml") | edited_team())

    assert applied.kinds["team"] == Tally(changed=1, kept=1)
    assert applied.kinds["document"] == Tally(unchanged=1, kept=1)
    assert count(operator, "documents") == 2
    assert count(operator, "teams") == 2


def edited_team() -> dict[str, str]:
    return {"teams/gate.yaml": SMALL["teams/gate.yaml"].replace("allowed_handoffs: [office]\n", "")}


def test_a_team_has_the_members_that_the_pack_names(apply_pack: Apply, operator: Principal, count: Count) -> None:
    apply_pack(SMALL)

    applied = apply_pack(edited("teams/gate.yaml", "members: [mira]", "members: []"))

    assert applied.kinds["team"] == Tally(changed=1, unchanged=1)
    assert count(operator, "team_members") == 0


def test_a_changed_document_embeds_only_what_changed(apply_pack: Apply, embedder: CountingEmbedder) -> None:
    apply_pack(SMALL)
    embedder.texts.clear()

    applied = apply_pack(edited("documents/rules.md", "18:00", "19:00"))

    assert applied.kinds["document"] == Tally(changed=1, unchanged=1)
    assert len(embedder.texts) == 1
    assert "19:00" in embedder.texts[0]


def test_a_new_template_writes_the_records_snapshots_anew(apply_pack: Apply, embedder: CountingEmbedder) -> None:
    apply_pack(SMALL)
    embedder.texts.clear()

    applied = apply_pack(edited("entity_types/site.yaml", "is {{status}} since", "has been {{status}} since"))

    assert applied.kinds["entity_type"] == Tally(changed=1)
    assert len(embedder.texts) == 2


def test_an_agent_that_names_the_built_in_tool_gets_it(
    apply_pack: Apply, database: Database, operator: Principal
) -> None:
    files = edited("agents/helper.yaml", "[look_up]", "[search_knowledge]")

    assert apply_pack(files).kinds["tool"] == Tally(created=2)
    assert not apply_pack(files).changed
    with database.transaction(operator) as tx:
        found = tx.value(Query("test.tool", "-", "SELECT endpoint FROM tools WHERE name = 'search_knowledge'"))
    assert found == "python:search_knowledge"


def test_an_apply_that_changed_something_is_in_the_audit_trail(
    apply_pack: Apply, database: Database, operator: Principal
) -> None:
    apply_pack(SMALL)

    with database.transaction(operator) as tx:
        entry = next(one for one in audit.recent(operator, tx, 10) if one.action == "pack.applied")

    assert entry.actor == "operator"
    kinds = entry.details["kinds"]
    assert isinstance(kinds, dict)
    assert kinds["binding"] == {"created": 1, "changed": 0, "unchanged": 0, "kept": 0, "retired": 0}


def member(tenant_id: UUID, *held: str, clearance: int = 3) -> Principal:
    return Principal(tenant_id, "member", UUID(int=7), frozenset(held), clearance)


@pytest.mark.parametrize("held", [(), ("viewer",)])
def test_only_administrators_apply(
    held: tuple[str, ...], apply_pack: Apply, database: Database, operator: Principal, now: datetime, new_id: NewId
) -> None:
    apply_pack(SMALL)

    with pytest.raises(Forbidden):
        apply(member(operator.tenant_id, *held), database, CountingEmbedder(), validate(SMALL), now, new_id)


def test_an_administrator_applies_to_their_own_tenant_only(
    apply_pack: Apply, database: Database, operator: Principal, now: datetime, new_id: NewId
) -> None:
    apply_pack(SMALL)
    admin, embedder = member(operator.tenant_id, "admin"), CountingEmbedder()

    assert not apply(admin, database, embedder, validate(SMALL), now + timedelta(hours=1), new_id).changed
    with pytest.raises(Conflict, match="sign in there"):
        apply(admin, database, embedder, validate(renamed("other")), now, new_id)
    with pytest.raises(NotFound):
        apply(member(new_id(now), "admin"), database, embedder, validate(renamed("new")), now, new_id)


def test_nobody_opens_a_door_to_more_than_they_may_see(
    apply_pack: Apply, database: Database, operator: Principal, now: datetime, new_id: NewId
) -> None:
    apply_pack(SMALL)
    pack = validate(edited("bindings/front.yaml", "clearance: internal", "clearance: restricted"))

    with pytest.raises(Forbidden, match="binding front would have the clearance restricted, and yours is internal"):
        apply(member(operator.tenant_id, "admin", clearance=1), database, CountingEmbedder(), pack, now, new_id)

    assert apply(member(operator.tenant_id, "admin"), database, CountingEmbedder(), pack, now, new_id).changed


def renamed(slug: str) -> dict[str, str]:
    """The sample as another tenant's, with the same routing keys."""
    return {**SMALL, "tenant.yaml": SMALL["tenant.yaml"].replace("acme", slug)}


def apart(slug: str) -> dict[str, str]:
    """The sample as another tenant's, with routing keys of its own."""
    binding = SMALL["bindings/front.yaml"].replace("AcmeGate", f"{slug}Gate").replace("acme.example", f"{slug}.example")
    return {**renamed(slug), "bindings/front.yaml": binding}


def test_another_tenants_routing_key_is_refused_and_nothing_is_applied(
    apply_pack: Apply, database: Database, count: Count, now: datetime, new_id: NewId
) -> None:
    apply_pack(SMALL)
    rival = roles.operator(new_id(now))

    with pytest.raises(Conflict, match="gupshup:AcmeGate"):
        apply(rival, database, CountingEmbedder(), validate(renamed("rival")), now, new_id)

    assert tenants.by_slug(database, "rival") is None
    assert {table: rows for table in TABLES if (rows := count(rival, table))} == {}


def test_a_slug_that_is_taken_is_refused(
    apply_pack: Apply, database: Database, count: Count, now: datetime, new_id: NewId
) -> None:
    apply_pack(SMALL)
    rival = roles.operator(new_id(now))

    with pytest.raises(Conflict, match="tenant:acme"):
        apply(rival, database, CountingEmbedder(), validate(SMALL), now, new_id)

    assert {table: rows for table in TABLES if (rows := count(rival, table))} == {}


def test_another_tenant_is_not_touched(
    apply_pack: Apply, database: Database, operator: Principal, count: Count, now: datetime, new_id: NewId
) -> None:
    apply_pack(SMALL)
    before = {table: count(operator, table) for table in TABLES}
    neighbour = roles.operator(new_id(now))

    apply(neighbour, database, CountingEmbedder(), validate(apart("beta")), now, new_id)
    apply(neighbour, database, CountingEmbedder(), validate(without_binding("beta")), now, new_id)

    assert {table: count(operator, table) for table in TABLES} == before
    assert not apply_pack(SMALL).changed
    with database.transaction(None) as tx:
        assert routes.resolve(tx, "web:acme.example") is not None
        assert routes.resolve(tx, "web:beta.example") is None


def without_binding(slug: str) -> dict[str, str]:
    return {path: text for path, text in apart(slug).items() if not path.startswith("bindings/")}


def test_a_failing_embedder_leaves_nothing_behind(
    database: Database, operator: Principal, count: Count, now: datetime, new_id: NewId
) -> None:
    class Broken(CountingEmbedder):
        def embed(self, texts: object, /) -> list[list[float]]:
            raise ConnectionError

    with pytest.raises(ConnectionError):
        apply(operator, database, Broken(), validate(SMALL), now, new_id)

    assert {table: rows for table in TABLES if (rows := count(operator, table))} == {}


def test_layers_that_are_too_large_are_refused(
    database: Database, operator: Principal, now: datetime, new_id: NewId
) -> None:
    with pytest.raises(InvalidPack) as caught:
        apply(operator, database, CountingEmbedder(), validate(SMALL), now, new_id, measure=lambda text: 50 * len(text))

    assert caught.value.problems[0].file == "bindings/front.yaml"
    assert tenants.by_slug(database, "acme") is None


def test_the_number_of_statements_does_not_grow_with_records_and_documents(
    apply_pack: Apply, database: Database
) -> None:
    apply_pack(SMALL)
    started = database.statements.count
    apply_pack(SMALL)
    few = database.statements.count - started
    many = {f"documents/{n}.md": f"---\ntitle: Note {n}\n---\n\nNumber {n}.\n" for n in range(50)}

    apply_pack(SMALL | many)
    started = database.statements.count
    apply_pack(SMALL | many)

    assert database.statements.count - started == few


def test_the_example_pack_applies_twice(
    database: Database, operator: Principal, count: Count, now: datetime, new_id: NewId
) -> None:
    pack, embedder = validate(folder.read(Path("packs/construction"))), CountingEmbedder()

    first = apply(operator, database, embedder, pack, now, new_id)
    spent = len(embedder.texts)
    second = apply(operator, database, embedder, replace(pack), now, new_id)

    assert first.kinds["entity"].created == len(pack.records)
    assert first.kinds["document"].created == len(pack.documents)
    assert not second.changed
    assert len(embedder.texts) == spent
    assert count(operator, "embeddings") == count(operator, "context_rows") - len(pack.records)


def test_two_applies_at_once_end_in_two_versions(
    apply_pack: Apply,
    open_database: Callable[[], Database],
    database: Database,
    operator: Principal,
    now: datetime,
    new_id: NewId,
) -> None:
    apply_pack(SMALL)
    greetings = ("You help at the north gate.", "You help at the south gate.")
    packs = [validate(edited("humans/mira.yaml", "You help at the gate.", text)) for text in greetings]
    connections = [open_database() for _ in packs]

    def one(index: int) -> bool:
        return apply(operator, connections[index], CountingEmbedder(), packs[index], now, new_id).changed

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(one, range(2))) == [True, True]

    with database.transaction(operator) as tx:
        persona = bindings.load(tx, bindings.list_active(tx)[0].id)
        assert persona is not None
        assert [kept.version for kept in versions.history(tx, "human", persona.human.id)] == [3, 2, 1]
