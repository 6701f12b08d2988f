"""Applies that meet what people changed: the pack's values, people's values, conflicts, prunes and undo."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from parlour.documents import authored_documents
from parlour.infra.errors import Forbidden, InvalidRequest, NotFound
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.packs.apply import ApplyOptions, ApplyResult, apply
from parlour.packs.merge import Decisions
from parlour.packs.prune import prune_pack
from parlour.packs.status import PackStatus, read_status
from parlour.packs.undo import Undo, undo_apply
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.records import crud, record_links
from parlour.records.record import Record, RecordInput, RecordPatch
from parlour.tenancy import bindings, tenants
from parlour.tenancy.access import get_phone_roles
from tests.integration.packs.conftest import CountingEmbedder
from tests.unit.packs.sample_pack import SMALL_PACK, with_edit, without_files

SITE = "entities/site.yaml"
CLOSED = with_edit(SITE, "status: open", "status: closed")
TAKE = ApplyOptions(Decisions("take"))


@dataclass
class PackTenant:
    """A tenant, its packs and its people."""

    database: Database
    operator: Principal
    embedder: CountingEmbedder
    now: datetime

    def apply(self, files: Mapping[str, str], options: ApplyOptions = ApplyOptions()) -> ApplyResult:  # noqa: B008
        self.now += timedelta(minutes=1)
        return apply(self.operator, self.database, self.embedder, validate(files), self.now, options=options)

    def undo(self) -> Undo:
        self.now += timedelta(minutes=1)
        return undo_apply(self.operator, self.database, self.embedder, self.now).undo

    def status(self) -> PackStatus:
        return read_status(self.operator, self.database)

    def prune(self, *, dry_run: bool = False) -> list[str]:
        self.now += timedelta(minutes=1)
        done = prune_pack(self.operator, self.database, self.embedder, self.now, dry_run=dry_run)
        return [change.item.handle for change in done.changes]

    def edit(self, ref: str, **properties: object) -> None:
        with self.database.transaction(self.operator) as tx:
            patch = RecordPatch(properties=properties)  # type: ignore[arg-type]
            crud.update_record(self.operator, tx, ref, patch, None, self.now)

    def delete(self, ref: str) -> None:
        with self.database.transaction(self.operator) as tx:
            crud.delete_record(self.operator, tx, ref, None, self.now)

    def record(self, ref: str) -> Record | None:
        with self.database.transaction(self.operator) as tx:
            return next(iter(crud.find_records(self.operator, tx, [ref])), None)

    def properties(self, ref: str) -> Mapping[str, object]:
        found = self.record(ref)
        assert found is not None
        return found.properties

    def count(self, sql: str) -> int:
        with self.database.transaction(self.operator) as tx:
            return int(tx.value(Query("test.count", "-", f"SELECT count(*) FROM {sql}")))


@pytest.fixture
def acme(database: Database, operator: Principal, embedder: CountingEmbedder, now: datetime) -> PackTenant:
    tenant = PackTenant(database, operator, embedder, now)
    tenant.apply(SMALL_PACK)
    return tenant


def changes(result: ApplyResult) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.item.handle, one.action, one.fields) for one in result.merge.changes]


def conflicts(result: ApplyResult) -> list[tuple[str, str | None, object, object]]:
    return [(one.item.handle, one.field, one.pack_value, one.current_value) for one in result.merge.conflicts]


def test_a_value_that_only_the_pack_changed_is_taken(acme: PackTenant) -> None:
    result = acme.apply(CLOSED)

    assert changes(result) == [("site/S-1", "changed", ("properties.status",))]
    assert acme.properties("site/S-1")["status"] == "closed"


def test_no_roles_on_a_phone_is_a_setting_that_is_stored(acme: PackTenant) -> None:
    def with_phone_roles(roles: str) -> dict[str, str]:
        return with_edit("tenant.yaml", "slug: acme\n", f"slug: acme\nphone_roles: {roles}\n")

    acme.apply(SMALL_PACK)
    assert acme.apply(with_phone_roles("[]")).has_changes
    assert not acme.apply(with_phone_roles("[]")).has_changes
    with acme.database.transaction(acme.operator) as tx:
        tenant = tenants.find_own_tenant(tx)
        assert tenant is not None
        assert get_phone_roles(tenant.settings) == frozenset()
    changed = acme.apply(with_phone_roles("[viewer, editor]"))
    assert (changed.has_changes, changed.merge.local_edits, changed.merge.conflicts) == (True, [], [])


def test_a_value_that_only_a_person_changed_stays(acme: PackTenant) -> None:
    acme.edit("site/S-1", status="closed", notes="fenced")

    result = acme.apply(with_edit("humans/mira.yaml", "You help at the gate.", "You help at the north gate."))

    assert changes(result) == [("human/mira", "changed", ("identity",))]
    edits = [(one.item.handle, one.field) for one in result.merge.local_edits]
    assert edits == [("site/S-1", "properties.status"), ("site/S-1", "properties.notes")]
    assert result.merge.conflicts == []
    assert acme.properties("site/S-1")["status"] == "closed"


def test_fields_of_one_record_are_decided_one_by_one(acme: PackTenant) -> None:
    acme.edit("site/S-1", area=99)

    result = acme.apply(CLOSED)

    assert changes(result) == [("site/S-1", "changed", ("properties.status",))]
    assert (acme.properties("site/S-1")["status"], acme.properties("site/S-1")["area"]) == ("closed", 99)


BIGGER, SMALLER = with_edit(SITE, "area: 120.5", "area: 130"), with_edit(SITE, "area: 120.5", "area: 90")


@pytest.mark.parametrize(
    ("options", "area"),
    [
        (ApplyOptions(), 99),
        (TAKE, 130),
        (ApplyOptions(Decisions("keep", {("site/S-1", "properties.area"): "take"})), 130),
        (ApplyOptions(Decisions("take", {("site/S-1", None): "keep"})), 99),
    ],
)
def test_a_conflict_is_decided_by_the_caller_and_by_default_stays(
    options: ApplyOptions, area: int, acme: PackTenant
) -> None:
    acme.edit("site/S-1", area=99)

    result = acme.apply(BIGGER, options)

    assert conflicts(result) == [("site/S-1", "properties.area", 130, 99)]
    assert acme.properties("site/S-1")["area"] == area
    assert acme.apply(BIGGER).merge.conflicts == []
    assert not acme.apply(BIGGER).has_changes


def test_take_of_a_record_replaces_what_only_a_person_changed(acme: PackTenant) -> None:
    acme.edit("site/S-1", area=99)

    assert not acme.apply(SMALL_PACK, TAKE).has_changes
    acme.apply(SMALL_PACK, ApplyOptions(Decisions(choices={("site/S-1", None): "take"})))

    assert acme.properties("site/S-1")["area"] == 120.5


def test_a_decision_about_an_unknown_record_is_refused(acme: PackTenant) -> None:
    with pytest.raises(InvalidRequest, match="did you mean 'site/S-1'"):
        acme.apply(SMALL_PACK, ApplyOptions(Decisions(choices={("site/S-11", None): "take"})))


def test_a_property_that_leaves_the_pack_leaves_the_record_unless_edited(acme: PackTenant) -> None:
    shorter = with_edit(SITE, "    area: 120.5\n", "")

    acme.apply(shorter)
    assert "area" not in acme.properties("site/S-1")
    acme.apply(SMALL_PACK)
    acme.edit("site/S-1", area=99)
    result = acme.apply(shorter)

    assert conflicts(result) == [("site/S-1", "properties.area", None, 99)]
    assert acme.properties("site/S-1")["area"] == 99


def test_a_deleted_record_stays_deleted_with_its_links_and_documents(acme: PackTenant) -> None:
    acme.delete("site/S-1")

    assert not acme.apply(SMALL_PACK).has_changes
    result = acme.apply(CLOSED)

    assert conflicts(result) == [("site/S-1", None, None, None)]
    assert acme.record("site/S-1") is None
    acme.apply(
        CLOSED, ApplyOptions(Decisions(choices={("site/S-1", None): "take", ("document/rules.md", None): "take"}))
    )
    assert acme.properties("site/S-1")["status"] == "closed"
    assert acme.count("documents WHERE deleted_at IS NULL") == 2
    assert not acme.apply(CLOSED).has_changes


def test_a_removed_link_and_a_deleted_document_stay_away(acme: PackTenant) -> None:
    with acme.database.transaction(acme.operator) as tx:
        record_links.unlink(acme.operator, tx, "site/S-1", "site/S-2", "beside", acme.now)
        authored_documents.delete_document(acme.operator, tx, "document/rules.md", None, acme.now)

    result = acme.apply(SMALL_PACK)

    assert not result.has_changes
    assert [one.item.handle for one in result.merge.local_edits] == ["site/S-1 beside site/S-2", "document/rules.md"]
    assert acme.count("context_rows WHERE document_id IS NOT NULL") == 1


def test_a_record_that_left_the_pack_and_was_deleted_comes_back_with_the_pack(acme: PackTenant) -> None:
    acme.apply(PRUNED)
    acme.delete("site/S-2")

    assert ("site/S-2", "created", ()) in changes(acme.apply(SMALL_PACK))


def test_a_record_that_people_made_first_is_not_taken_over(acme: PackTenant) -> None:
    with acme.database.transaction(acme.operator) as tx:
        new = RecordInput("site", "East yard", "S-3", {"status": "open"})
        crud.create_record(acme.operator, tx, new, acme.now)
    more = SMALL_PACK[SITE] + "- key: S-3\n  name: West yard\n  properties: {status: open, area: 7}\n"

    result = acme.apply({**SMALL_PACK, SITE: more})

    assert conflicts(result) == [("site/S-3", "name", "West yard", "East yard")]
    assert acme.properties("site/S-3") == {"status": "open", "area": 7}


def test_a_tenant_from_before_the_digests_takes_over_what_nobody_touched(acme: PackTenant) -> None:
    acme.edit("site/S-1", area=99)
    with acme.database.transaction(acme.operator) as tx:
        tx.run(Query("test.old", "-", "DELETE FROM pack_items"))

    files = {**SMALL_PACK, SITE: BIGGER[SITE].replace("South yard", "Southern yard")}
    files["humans/mira.yaml"] = files["humans/mira.yaml"].replace("kind", "brisk")
    result = acme.apply(files)

    assert conflicts(result) == [("site/S-1", "properties.area", 130, 99)]
    assert {one[0] for one in changes(result)} == {"human/mira", "site/S-2"}


def test_a_dry_run_says_what_an_apply_does_and_writes_nothing(acme: PackTenant) -> None:
    acme.edit("site/S-1", area=99)
    files = {**without_files("documents/rules.md"), SITE: BIGGER[SITE].replace("South yard", "Southern yard")}
    files["teams/yard.yaml"] = "display_name: Yard\n"
    before = acme.count("pack_items"), acme.count("audit_log"), acme.count("config_versions")
    acme.embedder.texts.clear()

    said = acme.apply(files, ApplyOptions(prune=True, dry_run=True))

    assert (acme.count("pack_items"), acme.count("audit_log"), acme.count("config_versions")) == before
    assert acme.embedder.texts == []
    done = acme.apply(files, ApplyOptions(prune=True))
    assert (said.merge, said.counts) == (done.merge, done.counts)
    assert said.has_changes


def test_a_dry_run_of_a_first_pack_creates_no_tenant(
    database: Database, operator: Principal, embedder: CountingEmbedder, now: datetime
) -> None:
    said = apply(operator, database, embedder, validate(SMALL_PACK), now, options=ApplyOptions(dry_run=True))

    assert said.counts["tenant"].created == 1
    with database.transaction(operator) as tx:
        assert tx.value(Query("test.count", "-", "SELECT count(*) FROM tenants")) == 0


PRUNED = {
    **without_files("documents/rules.md", "tools/look_up.yaml"),
    "agents/helper.yaml": SMALL_PACK["agents/helper.yaml"].replace("tools: [look_up]\n", ""),
    SITE: "- key: S-1\n  name: North yard\n  properties: {status: open, opened: 2026-01-05, area: 120.5}\n",
}
PRUNE = ApplyOptions(prune=True)


def test_a_prune_deletes_what_left_the_pack_and_undo_brings_it_back(acme: PackTenant) -> None:
    left = ["document/rules.md", "site/S-1 beside site/S-2", "site/S-2", "tool/look_up"]
    assert sorted(acme.apply(PRUNED).not_in_pack) == left
    assert sorted(acme.apply(PRUNED).not_in_pack) == left

    result = acme.apply(PRUNED, PRUNE)

    assert sorted(one.item.handle for one in result.merge.changes) == left
    assert (acme.record("site/S-2"), acme.count("edges e JOIN entities s ON s.id = e.target_id")) == (None, 0)
    assert (acme.count("tools"), acme.count("documents WHERE deleted_at IS NULL")) == (0, 1)
    assert acme.apply(PRUNED, PRUNE).not_in_pack == []
    acme.undo()
    assert acme.record("site/S-2") is not None
    assert (acme.count("tools"), acme.count("documents WHERE deleted_at IS NULL"), acme.count("edges")) == (1, 2, 1)
    assert sorted(acme.apply(PRUNED).not_in_pack) == left


def test_a_prune_refuses_what_people_changed_unless_taken(acme: PackTenant) -> None:
    acme.edit("site/S-2", notes="fenced")

    refused = acme.apply(PRUNED, PRUNE)
    assert {item.handle: reason for item, reason in refused.merge.not_deleted.items()} == {
        "site/S-2": "people changed it; --take deletes it all the same"
    }
    assert acme.record("site/S-2") is not None
    acme.apply(PRUNED, replace(PRUNE, decisions=Decisions("take")))

    assert acme.record("site/S-2") is None


def test_a_prune_refuses_a_record_that_people_linked(acme: PackTenant) -> None:
    with acme.database.transaction(acme.operator) as tx:
        record_links.link(acme.operator, tx, "site/S-2", "site/S-1", "near", acme.now)

    assert [item.handle for item in acme.apply(PRUNED, PRUNE).merge.not_deleted] == ["site/S-2"]


def test_what_is_above_the_clearance_is_neither_listed_nor_pruned_nor_shown(acme: PackTenant) -> None:
    acme.edit("site/S-2", notes="the safe is open")
    admin = replace(acme.operator, clearance=1)
    low = PackTenant(acme.database, admin, acme.embedder, acme.now)
    noted = SMALL_PACK[SITE].replace("{status: closed}", "{status: closed, notes: none}")

    result = low.apply({**SMALL_PACK, SITE: noted}, ApplyOptions(dry_run=True))
    (conflict,) = result.merge.conflicts
    assert (conflict.pack_value, conflict.current_value, conflict.is_withheld) == ("none", None, True)
    result = low.apply(PRUNED, replace(PRUNE, decisions=Decisions("take")))

    assert "site/S-2" not in " ".join([*result.not_in_pack, *map(str, result.merge.changes)])
    assert acme.record("site/S-2") is not None


def test_status_lists_applies_edits_and_what_left(acme: PackTenant) -> None:
    first = acme.status()
    assert (first.edits, first.left_pack, len(first.applies)) == ([], [], 1)
    assert first.applies[0].changed_items == first.item_count
    acme.edit("site/S-1", area=150)
    acme.delete("site/S-2")
    acme.apply({**SMALL_PACK, "humans/mira.yaml": SMALL_PACK["humans/mira.yaml"].replace("kind", "brisk")})

    found = acme.status()
    assert [(one.item.handle, one.fields) for one in found.edits] == [
        ("site/S-1 beside site/S-2", ()),
        ("site/S-1", ("properties.area",)),
        ("site/S-2", ()),
    ]
    assert [one.changed_items for one in found.applies] == [1, first.item_count]
    assert found.applies[0].applied_at == acme.now


def test_prune_without_a_pack_deletes_what_left_and_keeps_what_people_changed(acme: PackTenant) -> None:
    acme.edit("site/S-2", notes="the safe is open")
    acme.apply(PRUNED)
    before = acme.status().left_pack
    deletable = [item.handle for item, reason in before if not reason]
    kept = {item.handle: reason for item, reason in before if reason}
    assert deletable
    assert "people changed it" in kept["site/S-2"]

    assert acme.prune(dry_run=True) == deletable
    assert acme.status().left_pack == before
    assert acme.prune() == deletable
    assert [item.handle for item, _ in acme.status().left_pack] == [*kept]
    assert acme.prune() == []
    assert acme.undo().not_restored == []
    assert acme.status().left_pack == before


def test_status_and_prune_leave_out_what_is_above_the_clearance(acme: PackTenant) -> None:
    acme.edit("site/S-2", notes="the safe is open")
    acme.apply(PRUNED)
    low = PackTenant(acme.database, replace(acme.operator, clearance=1), acme.embedder, acme.now)
    assert "site/S-2" not in {item.handle for item, _ in low.status().left_pack}
    assert "site/S-2" not in low.prune()
    assert acme.record("site/S-2") is not None


def test_status_and_prune_need_an_admin(acme: PackTenant) -> None:
    editor = PackTenant(
        acme.database, replace(acme.operator, kind="member", roles=frozenset({"editor"})), acme.embedder, acme.now
    )
    for call in (editor.status, editor.prune):
        with pytest.raises(Forbidden):
            call()


def test_undo_restores_everything_but_what_changed_since(acme: PackTenant) -> None:
    files = {**CLOSED, SITE: CLOSED[SITE].replace("area: 120.5", "area: 130")}
    files["documents/rules.md"] = files["documents/rules.md"].replace("18:00", "19:00")
    files["humans/mira.yaml"] = files["humans/mira.yaml"].replace("kind", "brisk")
    files[SITE] += "- key: S-9\n  name: New yard\n  properties: {status: open}\n"
    acme.apply(files)
    acme.edit("site/S-1", area=150)

    undone = acme.undo()

    assert [(one.item.handle, one.field) for one in undone.not_restored] == [("site/S-1", "properties.area")]
    assert (acme.properties("site/S-1")["status"], acme.properties("site/S-1")["area"]) == ("open", 150)
    assert acme.record("site/S-9") is None
    with acme.database.transaction(acme.operator) as tx:
        persona = bindings.load_persona(tx, bindings.list_active_bindings(tx)[0].id)
        assert persona is not None
        assert persona.human.voice == {"tone": "kind"}
        assert "18:00" in str(tx.value(Query("test.text", "-", "SELECT content FROM documents WHERE key = 'rules.md'")))
    again = acme.apply(files)
    assert conflicts(again) == [("site/S-1", "properties.area", 130, 150)]
    assert acme.properties("site/S-1")["status"] == "closed"


def test_undo_of_a_retired_binding_lets_it_answer_again(acme: PackTenant) -> None:
    acme.apply(without_files("bindings/front.yaml"))

    acme.undo()

    with acme.database.transaction(acme.operator) as tx:
        assert [one.slug for one in bindings.list_active_bindings(tx)] == ["front"]
    assert not acme.apply(SMALL_PACK).has_changes


def test_undo_of_the_first_apply_leaves_what_conversations_need(acme: PackTenant) -> None:
    undone = acme.undo()

    stays = {one.item.handle for one in undone.not_restored}
    assert stays >= {"human/mira", "team/gate", "agent/helper"}
    assert acme.count("entities WHERE deleted_at IS NULL") == 0
    with acme.database.transaction(acme.operator) as tx:
        assert bindings.list_active_bindings(tx) == []
    with pytest.raises(NotFound, match="no apply to undo"):
        acme.undo()
    acme.apply(SMALL_PACK)
    with acme.database.transaction(acme.operator) as tx:
        assert len(bindings.list_active_bindings(tx)) == 1
