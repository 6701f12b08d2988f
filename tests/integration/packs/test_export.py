from datetime import datetime
from pathlib import Path
from uuid import UUID

import pytest

from parlour.infra.errors import Forbidden, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.export import export
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.tenancy import roles
from tests.integration.packs.conftest import ApplyFunction, CountingEmbedder
from tests.unit.packs.sample_pack import SMALL_PACK, with_edit, without_files

EXAMPLE = Path("packs/construction")
PROMPTING = {
    **SMALL_PACK,
    "agents/helper.yaml": SMALL_PACK["agents/helper.yaml"]
    + "budget: {profile: entity, layers: {history: {floor: 800}}, eviction_order: [facts]}\n"
    + "prompt: floating\nmodes: [clarify, inform]\nreminders: [Give the date of every reading.]\n",
    "entity_types/site.yaml": SMALL_PACK["entity_types/site.yaml"]
    + "  budget: {tokens: 9000, eviction_order: [recall]}\n",
}
"""The small pack with everything that a pack may say of prompts."""

PACKS = {"small": SMALL_PACK, "example": folder.read_folder(EXAMPLE), "prompting": PROMPTING}


@pytest.mark.parametrize("files", PACKS.values(), ids=PACKS)
def test_an_export_says_what_the_pack_said(
    files: dict[str, str], apply_pack: ApplyFunction, database: Database, operator: Principal
) -> None:
    apply_pack(files)

    given_back = export(operator, database)

    assert given_back.keys() == files.keys()
    before, after = validate(files), validate(given_back)
    assert after.documents == before.documents
    assert after.humans == before.humans
    assert after.teams == before.teams
    assert after.agents == before.agents
    assert after.bindings == before.bindings
    assert after.entity_types == before.entity_types
    assert after.tenant == before.tenant
    assert {key: record.properties for key, record in after.records.items()} == {
        key: record.properties for key, record in before.records.items()
    }


@pytest.mark.parametrize("files", PACKS.values(), ids=PACKS)
def test_applying_an_export_changes_nothing_and_exporting_again_gives_the_same_bytes(
    files: dict[str, str],
    apply_pack: ApplyFunction,
    database: Database,
    operator: Principal,
    embedder: CountingEmbedder,
) -> None:
    apply_pack(files)
    first = export(operator, database)
    embedder.texts.clear()

    again = apply_pack(first)

    assert not again.has_changes
    assert embedder.texts == []
    assert export(operator, database) == first


def test_an_export_moves_to_another_deployment_unchanged(
    apply_pack: ApplyFunction,
    database: Database,
    operator: Principal,
    cluster_copy: Database,
    now: datetime,
) -> None:
    apply_pack(SMALL_PACK)
    files = export(operator, database)
    elsewhere = roles.operator_principal(uuid7(now))

    apply(elsewhere, cluster_copy, CountingEmbedder(), validate(files), now)

    assert export(elsewhere, cluster_copy) == files


def test_a_tool_that_writes_elsewhere_comes_back_as_it_was(
    apply_pack: ApplyFunction, database: Database, operator: Principal
) -> None:
    hosts = "tool_hosts:\n  - orders.example.com\n  - orders.example.com:8443\n"
    tool = (
        "description: Orders material.\nschema:\n  type: object\n"
        "endpoint: https://orders.example.com/order\nwrites: true\nheavy: true\n"
        "lookup: https://orders.example.com:8443/orders/{key}\ntimeout_seconds: 86400\n"
    )
    apply_pack(SMALL_PACK | {"tenant.yaml": SMALL_PACK["tenant.yaml"] + hosts, "tools/order.yaml": tool})

    given_back = export(operator, database)

    assert given_back["tenant.yaml"].endswith(hosts)
    assert given_back["tools/order.yaml"] == tool
    assert not apply_pack(given_back).has_changes
    apply_pack(SMALL_PACK)
    assert "tool_hosts" not in export(operator, database)["tenant.yaml"]


AWKWARD = (
    'yes: "no" # not a comment\n\n  indented, trailing \n- x: [1, {2\n\ttab, ünï, क्रेन, 🏗️, \u2028, and a % sign\n'
    "...\n---\n!!tag &a *b"
)


def test_awkward_texts_come_back_as_they_were(
    apply_pack: ApplyFunction, database: Database, operator: Principal
) -> None:
    escapes = {'"': r"\"", "\n": r"\n", "\t": r"\t", "\u2028": r"\L"}
    quoted = '"' + "".join(escapes.get(character, character) for character in AWKWARD) + '"'
    files = with_edit("humans/mira.yaml", "You are Mira. You help at the gate.", quoted)
    files["documents/awkward.md"] = f"---\ntitle: 'yes'\n---\n\n\n{AWKWARD}\n\n"

    apply_pack(files)
    given_back = validate(export(operator, database))

    assert given_back.humans["mira"].identity == AWKWARD
    assert given_back.documents["awkward.md"] == validate(files).documents["awkward.md"]
    assert not apply_pack(export(operator, database)).has_changes


def test_a_binding_that_is_switched_off_is_left_out(
    apply_pack: ApplyFunction, database: Database, operator: Principal
) -> None:
    apply_pack(SMALL_PACK)
    apply_pack(without_files("bindings/front.yaml"))

    files = export(operator, database)

    assert "bindings/front.yaml" not in files
    assert not apply_pack(files).has_changes


def test_what_is_above_the_principals_clearance_is_left_out_with_what_refers_to_it(
    apply_pack: ApplyFunction, database: Database, operator: Principal, now: datetime
) -> None:
    files = SMALL_PACK | {"documents/yard.md": "---\ntitle: Yard\nentity: site/S-2\n---\n\nQuiet.\n"}
    apply_pack(files)
    admin = Principal(operator.tenant_id, "member", UUID(int=7), frozenset({"admin"}), clearance=2)

    shown = export(admin, database)

    assert "documents/notes/keys.txt" not in shown
    assert "documents/yard.md" not in shown
    assert "S-2" not in shown["entities/site.yaml"]
    assert not apply(admin, database, CountingEmbedder(), validate(shown), now).has_changes
    assert "documents/yard.md" in export(operator, database)


def test_only_administrators_export(apply_pack: ApplyFunction, database: Database, operator: Principal) -> None:
    apply_pack(SMALL_PACK)

    with pytest.raises(Forbidden):
        export(Principal(operator.tenant_id, "member", UUID(int=7), frozenset({"viewer"}), 3), database)


def test_a_tenant_that_does_not_exist_has_no_pack(database: Database, operator: Principal) -> None:
    with pytest.raises(NotFound):
        export(operator, database)


def test_own_replies_are_exported_as_they_were_applied(
    apply_pack: ApplyFunction, operator: Principal, database: Database
) -> None:
    texts = "replies:\n  stopped:\n    de: Wir machen Pause.\n    en: We take a break.\n"
    apply_pack(SMALL_PACK | {"tenant.yaml": SMALL_PACK["tenant.yaml"] + texts})
    assert texts in export(operator, database)["tenant.yaml"]
    apply_pack(SMALL_PACK)
    assert "replies" not in export(operator, database)["tenant.yaml"]
