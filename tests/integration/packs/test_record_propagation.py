"""What a pack's apply leaves behind of records that it makes and changes: how they read, what changed, whose Pulse is
stale. What it does not change has nothing of it."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from parlour.infra.postgres import Database, StatementCounts
from parlour.infra.queries import Query
from parlour.packs.apply import ApplyOptions, ApplyResult, apply
from parlour.packs.merge import Decisions
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.records import crud
from parlour.records.crud import RecordInput
from tests.integration.packs.conftest import ApplyFunction, CountingEmbedder
from tests.unit.packs.sample_pack import SMALL_PACK, with_edit, with_file, without_files

PULSING = with_edit("entity_types/site.yaml", "  status_properties: [status]", "  pulse: auto")

_DELTAS = """
SELECT jsonb_agg(jsonb_build_array(e.key, r.content, r.classification, r.pending, r.metadata->>'origin', o.key)
                 ORDER BY e.key, r.id)
  FROM context_rows r
  JOIN entities e ON e.id = r.entity_id
  LEFT JOIN entities o ON o.id = r.related_entity_id
 WHERE r.kind = 'delta'
"""
_STALE = "SELECT jsonb_object_agg(key, stale_causes) FROM entities WHERE stale_since IS NOT NULL"
_SETTLE = "UPDATE entities SET stale_since = NULL, stale_causes = '{}' RETURNING 1"
_FORGET = "DELETE FROM context_rows WHERE kind = 'delta' RETURNING 1"
_DUE = "SELECT count(*) FROM work_due WHERE tenant_id = current_tenant() AND kind = 'embedding'"


@pytest.fixture
def ask(database: Database, operator: Principal) -> "Ask":
    return Ask(database, operator)


class Ask:
    """One value of a statement."""

    def __init__(self, database: Database, principal: Principal) -> None:
        self.database, self.principal = database, principal

    def __call__(self, sql: str) -> Any:
        with self.database.transaction(self.principal) as tx:
            return tx.value(Query("test.ask", "-", sql))

    def settled(self) -> None:
        for statement in (_SETTLE, _FORGET):
            self(statement)
        self("DELETE FROM work_due WHERE tenant_id = current_tenant() AND kind = 'embedding' RETURNING 1")


def linked(files: Mapping[str, str], links: str) -> dict[str, str]:
    """The sample whose second site has links, too."""
    text = files["entities/site.yaml"]
    return {**files, "entities/site.yaml": f"{text.rstrip()}\n  links: [{links}]\n"}


def test_a_new_record_is_told_once_and_its_pulse_is_stale(apply_pack: ApplyFunction, ask: Ask, now: datetime) -> None:
    apply_pack(PULSING)

    when = now.strftime("%Y-%m-%d %H:%M")
    assert ask(_DELTAS) == [
        ["S-1", f"[{when}] created, by the operator", 0, False, "pack", None],
        ["S-2", f"[{when}] created, by the operator", 3, False, "pack", None],
    ]
    assert ask(_STALE) == {"S-1": ["changed", "document_changed"], "S-2": ["changed"]}


def test_what_did_not_change_has_no_new_row_and_no_mark(apply_pack: ApplyFunction, ask: Ask) -> None:
    apply_pack(PULSING)
    ask.settled()

    assert not apply_pack(PULSING).has_changes

    assert (ask(_DELTAS), ask(_STALE), ask(_DUE)) == (None, None, 0)


def test_a_changed_record_tells_from_what_to_what(apply_pack: ApplyFunction, ask: Ask) -> None:
    apply_pack(PULSING)
    ask.settled()

    files = PULSING["entities/site.yaml"].replace("status: open", "status: closed")
    apply_pack({**PULSING, "entities/site.yaml": files})

    (delta,) = ask(_DELTAS)
    assert delta[0] == "S-1"
    assert delta[1].endswith("North yard (Site): status: closed (was open), by the operator")
    assert ask(_DUE) == 1
    assert ask(_STALE) == {"S-1": ["changed"]}


def test_a_change_that_is_not_tracked_is_told_and_leaves_the_pulse(apply_pack: ApplyFunction, ask: Ask) -> None:
    files = with_edit(
        "entity_types/site.yaml", "status_properties: [status]", "pulse: auto\n  tracked_properties: [area]"
    )
    apply_pack(files)
    ask.settled()

    text = files["entities/site.yaml"].replace("status: open", "status: closed")
    apply_pack({**files, "entities/site.yaml": text})

    assert len(ask(_DELTAS)) == 1
    assert ask(_STALE) is None


def test_a_new_link_is_told_at_both_ends_as_closed_as_the_more_closed(
    apply_pack: ApplyFunction, ask: Ask, database: Database, operator: Principal, now: datetime
) -> None:
    whole = with_edit("entity_types/site.yaml", "  status_properties: [status]", "  pulse: auto\n  children: auto")
    apply_pack(whole)
    ask.settled()

    files = linked(whole, "{relation: has_task, to: site/S-1}")
    apply(operator, database, CountingEmbedder(), validate(files), now + timedelta(hours=1))

    first, second = ask(_DELTAS)
    assert first[1].endswith("linked: is a task of South yard (site/S-2), by the operator")
    assert second[1].endswith("linked: includes the task North yard (site/S-1), by the operator")
    assert [first[2:], second[2:]] == [[3, True, "pack", "S-2"], [3, True, "pack", "S-1"]]
    assert ask(_STALE) == {"S-1": ["link_changed"], "S-2": ["child_changed", "link_changed"]}


def test_a_level_that_rises_closes_what_was_said_before(apply_pack: ApplyFunction, ask: Ask) -> None:
    apply_pack(PULSING)
    text = PULSING["entities/site.yaml"].replace("name: North yard", "name: North yard\n  classification: confidential")

    apply_pack({**PULSING, "entities/site.yaml": text})

    levels = "SELECT jsonb_agg(DISTINCT classification) FROM context_rows WHERE entity_id = {} AND document_id IS NULL"
    assert ask(levels.format("(SELECT id FROM entities WHERE key = 'S-1')")) == [2]


def test_records_that_are_not_searched_have_no_rows(apply_pack: ApplyFunction, ask: Ask) -> None:
    apply_pack(with_edit("entity_types/site.yaml", "status_properties: [status]", "context: off"))

    assert ask("SELECT count(*) FROM context_rows WHERE entity_id IS NOT NULL AND document_id IS NULL") == 0


def test_a_changed_document_marks_the_record_that_it_is_about(apply_pack: ApplyFunction, ask: Ask) -> None:
    apply_pack(PULSING)
    ask.settled()

    apply_pack({**PULSING, "documents/rules.md": PULSING["documents/rules.md"].replace("18:00", "19:00")})

    assert ask(_STALE) == {"S-1": ["document_changed"]}


def test_a_deleted_record_that_is_taken_from_the_pack_is_a_new_one(
    ask: Ask, database: Database, operator: Principal, now: datetime
) -> None:
    def applied(*taken: str) -> ApplyResult:
        options = ApplyOptions(Decisions(choices={(handle, None): "take" for handle in taken}))
        return apply(operator, database, CountingEmbedder(), validate(SMALL_PACK), now, options=options)

    applied()
    before = ask("SELECT id FROM entities WHERE key = 'S-1'")
    with database.transaction(operator) as tx:
        crud.delete_record(operator, tx, "site/S-1", None, now)

    counts = applied("site/S-1", "document/rules.md").counts

    assert (counts["entity"].created, counts["edge"].created, counts["document"].created) == (1, 1, 1)
    assert ask("SELECT id FROM entities WHERE key = 'S-1'") != before
    assert ask("SELECT count(*) FROM documents WHERE key = 'rules.md' AND deleted_at IS NULL AND version = 1") == 1
    assert not applied().has_changes


def test_a_thousand_records_take_as_many_statements_as_ten(
    database: Database, operator: Principal, now: datetime
) -> None:
    def applied(amount: int, status: str) -> int:
        records = "".join(
            f"- key: N-{at}\n  name: Site {at}\n  properties: {{status: {status}}}\n"
            f"  links: [{{relation: depends_on, to: site/N-{(at + 1) % amount}}}]\n"
            for at in range(amount)
        )
        database.statements = StatementCounts()
        pack = validate(with_file("entities/site.yaml", records) | {"documents/rules.md": "---\ntitle: R\n---\n\nR.\n"})
        apply(operator, database, CountingEmbedder(), pack, now)
        return database.statements.count

    applied(10, "open")
    few = applied(10, "closed")
    applied(1000, "open")

    assert applied(1000, "closed") == few


def test_what_a_pack_no_longer_has_is_named_and_kept_and_what_people_wrote_is_not(
    apply_pack: ApplyFunction, ask: Ask, database: Database, operator: Principal, now: datetime
) -> None:
    apply_pack(SMALL_PACK)
    with database.transaction(operator) as tx:
        crud.create_record(operator, tx, RecordInput("site", "Old yard", "S-9", {"status": "open"}), now)
    first = (
        SMALL_PACK["entities/site.yaml"]
        .partition("- key: S-2")[0]
        .replace("  links:\n    - {relation: beside, to: site/S-2}\n", "")
    )

    applied = apply_pack({**without_files("documents/notes/keys.txt"), "entities/site.yaml": first})

    assert (applied.counts["entity"].kept, applied.counts["document"].kept) == (1, 1)
    assert sorted(applied.not_in_pack) == ["document/notes/keys.txt", "site/S-1 beside site/S-2", "site/S-2"]
    assert ask("SELECT count(*) FROM entities WHERE version = 1 AND deleted_at IS NULL") == 3


def test_the_trail_counts_what_is_kept_and_names_nothing_that_only_some_may_see(
    apply_pack: ApplyFunction, ask: Ask
) -> None:
    apply_pack(SMALL_PACK)
    less = without_files("documents/notes/keys.txt")

    applied = apply_pack({**less, "entities/site.yaml": less["entities/site.yaml"].replace("name: ", "name: The ", 1)})

    assert applied.not_in_pack == ["document/notes/keys.txt"]
    assert ask("SELECT max(details->>'not_in_pack') FROM audit_log WHERE action = 'pack.applied'") == "1"
