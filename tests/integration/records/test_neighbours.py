"""What stands around a record that has very much around it."""

from datetime import datetime, timedelta

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.records.neighbours import neighbourhood
from tests.conversation_harness import ConversationHarness, open_conversation_harness


def test_of_very_many_files_the_newest_are_told_of(database: Database, now: datetime) -> None:
    desk: ConversationHarness = open_conversation_harness(database, now)
    ((record, team),) = desk.query("SELECT e.id, t.id FROM entities e, teams t WHERE e.key = 'T-121' LIMIT 1")
    for number in range(45):
        desk.query(
            "INSERT INTO context_rows (tenant_id, id, entity_id, kind, title, content, content_hash, created_at) VALUES"
            f" ('{desk.tenant_id}', '{uuid7(now)}', '{record}', 'file_summary', 'f', 'File {number}', '{number}',"
            f" timestamptz '2026-01-01' + interval '{number} minutes') RETURNING 1"
        )
    with desk.database.transaction(desk.admin) as tx:
        found = neighbourhood.find_neighbours(desk.admin, tx, record, team_id=team, is_project=False)  # type: ignore[arg-type]
    told = {one.content for one in found if one.category == "file_summary"}
    assert told == {f"File {number}" for number in range(5, 45)}


@pytest.fixture
def busy(database: Database, now: datetime) -> ConversationHarness:
    """A project of which each record has changed 40 times, a minute apart, all at once."""
    desk: ConversationHarness = open_conversation_harness(database, now)
    desk.query("DELETE FROM context_rows WHERE kind = 'delta' RETURNING 1")
    desk.query(
        "INSERT INTO context_rows (tenant_id, id, entity_id, kind, title, content, content_hash, created_at)"
        " SELECT tenant_id, gen_random_uuid(), id, 'delta', 'd', key || ' ' || n, key || n,"
        " timestamptz '2026-01-01' + n * interval '1 minute' FROM entities, generate_series(1, 40) n RETURNING 1"
    )
    return desk


def test_of_very_many_changes_the_newest_are_told_newest_first(busy: ConversationHarness, now: datetime) -> None:
    records = busy.query("SELECT id FROM entities WHERE key IN ('T-121', 'T-112')")
    told = [("entities", str(one)) for (one,) in records]
    with busy.database.transaction(busy.admin) as tx:
        found = neighbourhood.find_changes_since(
            busy.admin, tx, datetime(2026, 1, 1, tzinfo=now.tzinfo), told, includes_changes=True
        )
        fourth, last = found.changes[3].created_at, found.changes[-1].created_at
        assert fourth is not None
        assert last is not None
        later = neighbourhood.find_changes_since(busy.admin, tx, fourth, told, includes_changes=True)
        unfollowed = neighbourhood.find_changes_since(busy.admin, tx, last, told, includes_changes=False)
    newest = [f"{key} {number}" for number in range(40, 25, -1) for key in ("T-112", "T-121")]
    assert sorted(one.content for one in found.changes) == sorted(newest)
    assert [one.created_at for one in found.changes] == sorted((one.created_at for one in found.changes), reverse=True)  # type: ignore[type-var]
    assert {one.content for one in later.changes} == {"T-112 40", "T-121 40"}
    assert unfollowed.changes == ()


def test_what_changed_lately_in_a_project_is_the_newest_of_all_its_records(busy: ConversationHarness) -> None:
    ((project, team),) = busy.query("SELECT e.id, t.id FROM entities e, teams t WHERE e.key = 'NRS' LIMIT 1")
    busy.query(f"UPDATE entities SET project_id = '{project}' WHERE id <> '{project}' RETURNING 1")
    latest = timedelta(minutes=50)
    busy.query(
        "UPDATE context_rows SET created_at = timestamptz '2026-01-01' +"
        f" interval '{latest.total_seconds()} seconds' WHERE content IN ('T-121 39', 'T-121 40') RETURNING 1"
    )
    with busy.database.transaction(busy.admin) as tx:
        found = neighbourhood.find_neighbours(busy.admin, tx, project, team_id=team, is_project=True)  # type: ignore[arg-type]
    recent = [one for one in found if one.category == "project_delta"]
    assert len(recent) == 8
    assert {"T-121 39", "T-121 40"} < {one.content for one in recent}
    assert all(one.content.endswith((" 40", "T-121 39")) for one in recent)
